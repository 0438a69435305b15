import { expect, test } from 'vitest'
import { installationFolder } from '../fixtures/installation-folder.ts'

const SEARCH = {
  name: 'search_web',
  description: 'Searches',
  parameters: { type: 'object', properties: { query: { type: 'string' } } },
  implementation: { type: 'mock', mock_response: 'found' },
  cost: { per_call: 0.005 },
}

test('a budget counts the calls of commands in a folder without a store', async () => {
  const budgets = [{ scope: 'tool', per: 'day', amount: 0.01 }] as const
  const { toolyard } = await installationFolder({ tools: { enabled: true, registry: [SEARCH] }, budgets })
  const codes: unknown[] = []
  for (const query of ['a', 'b', 'c']) {
    codes.push(JSON.parse((await toolyard('exec', 'search_web', `query=${query}`, '--json')).out).error_code)
  }
  expect(codes).toEqual([undefined, undefined, 'RATE_LIMITED'])
  const { total } = JSON.parse((await toolyard('costs', '--json')).out)
  expect(total).toEqual({ cost: 0.01, calls: 2, unknown_calls: 0 })
})
