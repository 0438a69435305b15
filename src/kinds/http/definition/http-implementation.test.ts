import { expect, test } from 'vitest'
import { compileSchema } from '../../../core/schema/compiled-schema.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import { HTTP_IMPLEMENTATION_SCHEMA, type HttpImplementation } from './http-implementation.ts'

type Whole = { [Key in keyof HttpImplementation as string extends Key ? never : Key]-?: HttpImplementation[Key] }

/** Every key that an implementation may have: one that is added to the type is missed here. */
const WHOLE: Omit<Whole, 'handler' | 'network' | 'returns'> = {
  type: 'http',
  url: 'https://api.example.com/{id}',
  method: 'POST',
  headers: { a: 'b' },
  query: { a: 'b' },
  params_mapping: { a: 'b' },
  params_in: { a: 'query', b: { in: 'path', style: 'label', explode: true } },
  body: 'form',
  body_param: 'a',
  auth: { type: 'bearer', token: '${TOKEN}' },
  response_path: '$.a',
  pick: ['a'],
  max_items: 1,
  pagination: { type: 'link', items_path: '$.a', max_pages: 1 },
  timeout_ms: 1,
  first_byte_timeout_ms: 1,
  max_response_bytes: 1,
  retry: { max_attempts: 1, backoff_ms: 1 },
  circuit_breaker: { failures: 1, open_ms: 1 },
  allowed_domains: ['a.test'],
}

test('the schema knows every key, and takes an implementation that has them all', () => {
  expect(Object.keys(HTTP_IMPLEMENTATION_SCHEMA.properties).sort()).toEqual(Object.keys(WHOLE).sort())
  expect(compileSchema(HTTP_IMPLEMENTATION_SCHEMA).check?.(WHOLE)).toBe(true)
})

test('every key is described, for editors', () => {
  const { type: _, ...keys } = HTTP_IMPLEMENTATION_SCHEMA.properties
  for (const [key, schema] of Object.entries(keys)) {
    expect([key, isObject(schema) && typeof schema.description]).toEqual([key, 'string'])
  }
})
