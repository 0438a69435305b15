import { afterAll, describe, expect, test } from 'vitest'
import { emptyFolder, toolyard } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)

describe('demo', () => {
  test('shows calls that succeed, are invalid, are unknown and time out', async () => {
    const { code, out, err } = await toolyard(['demo'], { env: { TOOLYARD_CONFIG: 'nowhere.json' } })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    for (const said of ['"temperature": 22', '"result": 6.75', 'INVALID_PARAMETERS', 'get_wether', 'after 500ms']) {
      expect(out).toContain(said)
    }
    expect(out).toContain('Try next:')
  })

  test('--json gives the calls', async () => {
    const { calls } = JSON.parse((await toolyard(['demo', '--json'])).out)
    const outcomes = calls.map((call: { result: { error_code?: string } }) => call.result.error_code ?? 'success')
    expect(outcomes).toEqual(['success', 'success', 'success', 'INVALID_PARAMETERS', 'TOOL_NOT_FOUND', 'TIMEOUT'])
  })
})
