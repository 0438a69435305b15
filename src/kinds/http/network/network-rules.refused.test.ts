import { expect, test } from 'vitest'
import { connectionCode } from '../../../core/failure.ts'
import { AddressRules } from './address-rules.ts'
import { ask } from './fixtures/ask.ts'
import { recordedAgent } from './fixtures/recorded-agent.ts'
import { RefusedAddress, refusedAddress } from './network-rules.ts'

test('a refusal is found behind other errors, and nothing else is taken for one', () => {
  const refusal = new RefusedAddress('db.internal', 'a private address')
  expect(refusedAddress(new Error('a', { cause: new TypeError('b', { cause: refusal }) }))).toBe(refusal)
  expect(connectionCode(refusal)).toBeUndefined()
  const round = new Error('round')
  round.cause = round
  for (const other of [undefined, null, 'refused', round, Object.assign(new Error('x'), { code: 'ENOTFOUND' })]) {
    expect(refusedAddress(other)).toBeUndefined()
  }
})

test('a refusal names the host as it was written, and no address that it resolved to', async () => {
  const { agent } = recordedAgent(new AddressRules(), [['1.1.1.1', '10.20.30.40']])
  expect(refusedAddress(await ask(agent, new URL('https://db.example.com/')))?.message).toBe(
    "The host 'db.example.com' was refused: it resolves to a private address. If tools are meant to reach it, add its address to http.allow_private.",
  )
})
