import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ask } from './fixtures/ask.ts'
import { SPECIAL_IPV4, toIpv4 } from './fixtures/iana-special.ts'
import { NOT_DIALLED, recordedAgent } from './fixtures/recorded-agent.ts'
import { NetworkRules, RefusedAddress } from './network-rules.ts'

const rules = new NetworkRules({})

const inside = fc.oneof(...SPECIAL_IPV4.map(({ first, last }) => fc.bigInt({ min: first, max: last })))

type Spelling = (number: bigint) => string

const bases: readonly Spelling[] = [
  (part) => part.toString(),
  (part) => `0${part.toString(8)}`,
  (part) => `0x${part.toString(16)}`,
  (part) => `0X000${part.toString(16).toUpperCase()}`,
]

/** How the letters of an address may look until the host is read. */
const letters: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text}.`,
  (text) => text.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (text) => text.replace(/[0-9]/g, (digit) => `%3${digit}`),
  (text) => text.replaceAll('.', '。'),
  (text) => text.replaceAll('.', '%2E'),
  (text) => `\t${text}\n`,
]

/** One to four parts, the last of which takes what is left, each in a base of its own. */
const ipv4Spelling: fc.Arbitrary<Spelling> = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.tuple(...Array.from({ length: 4 }, () => fc.constantFrom(...bases))))
  .chain(([count, written]) =>
    fc.constantFrom(...letters).map((letter) => (number: bigint) => {
      const parts = [24n, 16n, 8n].slice(0, count - 1).map((shift) => (number >> shift) & 255n)
      parts.push(number & ((1n << BigInt(8 * (5 - count))) - 1n))
      return letter(parts.map((part, index) => (written[index] as Spelling)(part)).join('.'))
    }),
  )

const hex = (number: bigint): string => `${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`

const ipv6Spelling: fc.Arbitrary<Spelling> = fc.constantFrom<Spelling>(
  (number) => `::ffff:${toIpv4(number)}`,
  (number) => `::ffff:${hex(number)}`,
  (number) => `0:0:0:0:0:FFFF:${toIpv4(number)}`,
  (number) => `::${toIpv4(number)}`,
  (number) => `::ffff:0:${toIpv4(number)}`,
  (number) => `64:ff9b::${toIpv4(number)}`,
  (number) => `64:ff9b:1::${toIpv4(number)}`,
  (number) =>
    `64:FF9B:1:${(number >> 16n).toString(16)}:${((number >> 8n) & 255n).toString(16)}:${(number & 255n).toString(16)}00::`,
  (number) => `2002:${hex(number)}::1`,
  (number) => `2001:0:${hex(number)}::1`,
  (number) => `2001:0:808:808:0:0:${hex(number ^ 0xffffffffn)}`,
  (number) => `2a00:1450:4001:82a:0:5efe:${hex(number)}`,
  (number) => `2a00:1450:4001:82a:200:5EFE:${toIpv4(number)}`,
  (number) => `fe80::5efe:${hex(number)}`,
)

/** Whether both walls stand: the rules for URLs, and the agent that is asked without them. */
async function expectRefused(url: URL): Promise<void> {
  expect(rules.forTool(url).refusal(url)).toMatch(/^The host '.*' was refused: it is an? /)
  const { agent, dialled, lookedUp } = recordedAgent(rules.addresses)
  expect(await ask(agent, url)).toBeInstanceOf(RefusedAddress)
  expect([...dialled, ...lookedUp]).toEqual([])
}

test('reaches no private IPv4 address in any spelling', async () => {
  await fc.assert(
    fc.asyncProperty(inside, ipv4Spelling, (number, spell) => expectRefused(new URL(`http://${spell(number)}/`))),
    { numRuns: 600 },
  )
})

test('reaches no private IPv4 address in any form of IPv6', async () => {
  await fc.assert(
    fc.asyncProperty(inside, ipv6Spelling, (number, spell) => expectRefused(new URL(`http://[${spell(number)}]/`))),
    { numRuns: 600 },
  )
})

test('no name leads there, whatever form its answer has and whatever stands beside it', async () => {
  const form = fc.oneof(fc.constant<Spelling>(toIpv4), ipv6Spelling)
  await fc.assert(
    fc.asyncProperty(inside, form, fc.nat({ max: 3 }), async (number, spell, place) => {
      const answer = ['1.1.1.1', '2606:4700:4700::1111', '8.8.8.8']
      answer.splice(place, 0, spell(number))
      const { agent, dialled } = recordedAgent(rules.addresses, [answer])
      expect(await ask(agent, new URL('https://a.example/'))).toBeInstanceOf(RefusedAddress)
      expect(dialled).toEqual([])
    }),
    { numRuns: 600 },
  )
})

test('every spelling of a public address comes to that address', async () => {
  await fc.assert(
    fc.asyncProperty(ipv4Spelling, async (spell) => {
      const url = new URL(`http://${spell(0x5db8d70en)}/`)
      expect(rules.forTool(url).refusal(url)).toBeUndefined()
      const { agent, dialled } = recordedAgent(rules.addresses)
      expect(await ask(agent, url)).toMatchObject({ code: NOT_DIALLED })
      expect(dialled).toMatchObject([{ address: '93.184.215.14' }])
    }),
  )
})
