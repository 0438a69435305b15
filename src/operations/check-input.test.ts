import { describe, expect, test } from 'vitest'
import { compileValidator, validationError } from './check-input.ts'

describe('compileValidator', () => {
  const schema = { type: 'object', properties: { limit: { type: 'integer', minimum: 1 }, share: { type: 'number' } } }

  function errorOf(httpPart: 'body' | 'querystring', text: string): string | undefined {
    const validate = compileValidator({ schema, httpPart })
    const result = validate(JSON.parse(text))
    return result === true ? undefined : validationError(result.error).message
  }

  test.each([
    ['body', '{"limit": 1e999}', 'limit must be an integer'],
    ['body', '{"share": -1e999}', 'share must be a number'],
    ['body', '{"limit": "5"}', 'limit must be an integer'],
    ['body', '{"limit": null}', 'limit must be an integer'],
    ['querystring', '{"limit": "1e999"}', 'limit must be a number'],
    ['querystring', '{"share": "-Infinity"}', 'share must be a number'],
    ['querystring', '{"limit": "NaN"}', 'limit must be an integer'],
    ['querystring', '{"limit": ""}', 'limit must be an integer'],
    ['querystring', '{"limit": "0"}', 'limit must be at least 1'],
  ] as const)('refuses in the %s: %s', (part, text, message) => {
    expect(errorOf(part, text)).toBe(message)
  })

  test('reads numbers in a URL', () => {
    expect(errorOf('querystring', '{"limit": "5", "share": "0.5"}')).toBeUndefined()
  })
})
