import { isIP } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ask } from './fixtures/ask.ts'
import { recordedAgent } from './fixtures/recorded-agent.ts'
import { refusalOf } from './fixtures/refusal-of.ts'
import { SSRF_TABLE } from './fixtures/ssrf-table.ts'
import { NetworkRules, refusedAddress } from './network-rules.ts'

const rules = new NetworkRules({})

describe('blocks access to internal addresses by', () => {
  test.each(SSRF_TABLE)('$trick', async (row) => {
    const { said, dialled } = await refusalOf(row)
    expect(said).toContain(row.why)
    // Rebinding is answered well at first; that answer, and no other, is dialled.
    expect(dialled).toEqual((row.answers ?? []).slice(0, -1).flat())
  })
})

describe('the agent alone, without the rules for URLs, refuses', () => {
  const literals = SSRF_TABLE.filter(
    ({ url, answers }) => answers === undefined && URL.canParse(url) && /^https?:/.test(url) && hasAddress(url),
  )

  test.each(literals)('$trick', async ({ url }) => {
    const { agent, dialled, lookedUp } = recordedAgent(rules.addresses)
    const failed = await ask(agent, new URL(url))
    expect(refusedAddress(failed)?.code).toBe('ERR_ADDRESS_REFUSED')
    expect([...dialled, ...lookedUp]).toEqual([])
  })

  test('other schemes', async () => {
    for (const { url } of SSRF_TABLE.filter((row) => URL.canParse(row.url) && !/^https?:/.test(row.url))) {
      const { agent, dialled, lookedUp } = recordedAgent(rules.addresses, [['93.184.215.14']])
      expect(await ask(agent, new URL(url)), url).toBeInstanceOf(Error)
      expect([...dialled, ...lookedUp], url).toEqual([])
    }
  })
})

test('the table holds no trick twice', () => {
  expect(new Set(SSRF_TABLE.map(({ trick }) => trick)).size).toBe(SSRF_TABLE.length)
  expect(SSRF_TABLE.length).toBeGreaterThanOrEqual(60)
})

const hasAddress = (url: string): boolean => isIP(new URL(url).hostname.replace(/^\[|\]$/g, '')) !== 0
