import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AddressRules } from './address-rules.ts'
import { isIn, SPECIAL_IPV4, SPECIAL_IPV6, toIpv4, toIpv6 } from './fixtures/iana-special.ts'

const refused = (address: string, ...open: string[]): boolean => new AddressRules(open).refusal(address) !== undefined

/** Numbers all over, and more of them at the borders of ranges, where mistakes are. */
const near = (ranges: readonly { first: bigint; last: bigint }[], width: bigint): fc.Arbitrary<bigint> => {
  const max = (1n << width) - 1n
  const borders = ranges.flatMap(({ first, last }) => [first - 1n, first, last, last + 1n])
  const inside = ranges.map(({ first, last }) => fc.bigInt({ min: first, max: last }))
  return fc.oneof(
    fc.bigInt({ min: 0n, max }),
    fc.constantFrom(...borders.filter((border) => border >= 0n && border <= max)),
    ...inside,
  )
}

const isIsatap = (number: bigint): boolean => ((number >> 32n) & 0xfdffffffn) === 0x5efen

describe('without anything opened', () => {
  test('refuses exactly the IPv4 addresses in the IANA registry', () => {
    fc.assert(
      fc.property(near(SPECIAL_IPV4, 32n), (number) => {
        expect(refused(toIpv4(number))).toBe(isIn(SPECIAL_IPV4, number))
      }),
      { numRuns: 3_000 },
    )
  })

  test('refuses exactly the IPv6 addresses outside 2000::/3 or in the IANA registry', () => {
    const native = near(SPECIAL_IPV6, 128n).filter((number) => number >> 32n !== 0xffffn && !isIsatap(number))
    fc.assert(
      fc.property(native, (number) => {
        expect(refused(toIpv6(number))).toBe(isIn(SPECIAL_IPV6, number))
      }),
      { numRuns: 3_000 },
    )
  })

  test.each(['1.1.1.1', '8.8.8.8', '93.184.215.14', '172.32.0.0', '192.167.255.255', '169.253.255.255', '100.128.0.0'])(
    '%s passes',
    (address) => expect(refused(address)).toBe(false),
  )

  test.each(['2606:4700:4700::1111', '2001:4860:4860::8888', '2a00:1450:4001:82a::200e', '::ffff:8.8.8.8'])(
    '%s passes',
    (address) => expect(refused(address)).toBe(false),
  )

  test('allows a public embedded address in a public form', () => {
    expect(refused('2600::5efe:8.8.8.8')).toBe(false)
    expect(refused('2600::5efe:10.0.0.1')).toBe(true)
    expect(refused('64:ff9b::8.8.8.8')).toBe(true)
  })

  test.each([
    '',
    'localhost',
    '0x7f.1',
    '127.1',
    '2130706433',
    '8.8.8.8 ',
    '08.8.8.8',
    '::1%lo',
    '[::1]',
    '8.8.8.8/32',
  ])('refuses text that is not an address: "%s"', (text) =>
    expect(new AddressRules().refusal(text)).toBe('no plain IP address'),
  )
})

describe('allow_private', () => {
  /** What is opened, what passes by it, and what lies beside it. */
  const rows: readonly [open: string, inside: readonly string[], beside: readonly string[]][] = [
    ['10.1.2.0/24', ['10.1.2.0', '10.1.2.255', '::ffff:10.1.2.7', '::ffff:a01:207'], ['10.1.1.255', '10.1.3.0']],
    ['10.1.2.0/24', [], ['::10.1.2.7', '::ffff:0:10.1.2.7', '64:ff9b::10.1.2.7', '2002:a01:207::', '127.0.0.1']],
    ['127.0.0.1', ['127.0.0.1', '::ffff:127.0.0.1'], ['127.0.0.0', '127.0.0.2', '::1']],
    ['127.0.0.1/32', ['127.0.0.1'], ['127.0.0.2', '0.0.0.0']],
    ['192.168.0.0/17', ['192.168.127.255'], ['192.168.128.0']],
    ['::1', ['::1', '0:0:0:0:0:0:0:1'], ['::', '::2', '127.0.0.1', '::1%lo']],
    ['fd12:3456::/48', ['fd12:3456::', 'fd12:3456:0:ffff::1'], ['fd12:3456:1::', 'fd12:3455:ffff::']],
    ['::ffff:10.1.2.0/120', ['10.1.2.9', '::ffff:10.1.2.9'], ['10.1.3.0', '::ffff:10.1.3.0']],
    ['0.0.0.0/0', ['10.0.0.1', '127.0.0.1', '255.255.255.255'], ['169.254.169.254', '::1', '::10.0.0.1']],
    ['::/0', ['::1', 'fe80::1', '::10.0.0.1'], ['10.0.0.1', '::ffff:10.0.0.1', 'fd00:ec2::254']],
    ['64:ff9b::/96', ['64:ff9b::8.8.8.8'], ['64:ff9b::10.0.0.1', '64:ff9b::169.254.169.254', '64:ff9b:1::8.8.8.8']],
  ]

  test.each(rows)('"%s" opens %j, and does not open %j', (open, inside, beside) => {
    for (const address of inside) {
      expect(refused(address), address).toBe(true)
      expect(refused(address, open), address).toBe(false)
    }
    for (const address of beside) expect(refused(address, open), address).toBe(true)
  })

  test('opens an IPv4 CIDR exactly, whichever it is', () => {
    const cidr = fc.tuple(fc.bigInt({ min: 0x0a000000n, max: 0x0affffffn }), fc.integer({ min: 8, max: 32 }))
    fc.assert(
      fc.property(cidr, fc.bigInt({ min: 0x0a000000n, max: 0x0affffffn }), ([number, bits], asked) => {
        const shift = BigInt(32 - bits)
        const first = (number >> shift) << shift
        const inside = asked >> shift === number >> shift
        expect(refused(toIpv4(asked), `${toIpv4(first)}/${bits}`)).toBe(!inside)
        expect(refused(`::ffff:${toIpv4(asked)}`, `${toIpv4(first)}/${bits}`)).toBe(!inside)
      }),
    )
  })

  test('opens a metadata address only if it is listed itself', () => {
    for (const address of ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254']) {
      const range = address.includes(':') ? 'fd00::/8' : '0.0.0.0/0'
      expect(new AddressRules([range]).refusal(address)).toBe('a metadata address of a cloud')
      expect(refused(address, address)).toBe(false)
    }
    expect(refused('169.254.1.1', '169.254.0.0/16')).toBe(false)
    expect(refused('::ffff:169.254.169.254', '169.254.169.254/32')).toBe(false)
  })

  test('opens an embedded address only together with its IPv6 address', () => {
    expect(refused('64:ff9b::10.0.0.1', '64:ff9b::/96', '10.0.0.0/8')).toBe(false)
    expect(new AddressRules(['64:ff9b::/96']).refusal('64:ff9b::10.0.0.1')).toBe(
      'an IPv6 address that stands for a private address',
    )
  })

  test.each(['', 'x', '10.1.2', '10.1.2.0/33', '10.1.2.0/', '10.1.2.0/-1', '10.1.2.0/8.', '*', 'fd00::/129', '::1%lo'])(
    'refuses "%s" with a sentence that quotes it',
    (entry) => {
      expect(() => new AddressRules(['10.0.0.0/8', entry])).toThrow(
        `http.allow_private has ${JSON.stringify(entry)}, which is neither an IP address nor a CIDR: write it like`,
      )
    },
  )

  test.each(['10.1.2.0/24/24', '0x0a.0.0.0/8', '::ffff:10.0.0.0/95', 'localhost', '10.1.2.0 /24', '10.0.0.0-10.0.0.9'])(
    'refuses "%s"',
    (entry) => expect(() => new AddressRules([entry])).toThrow(`http.allow_private has "${entry}"`),
  )

  test.each([
    ['10.1.2.3/24', '"10.1.2.0/24" for the range or "10.1.2.3" for the one address'],
    ['fd00::1/64', '"fd00::/64" for the range or "fd00::1" for the one address'],
  ])('refuses the ambiguous entry %s and names both readings', (entry, both) => {
    expect(() => new AddressRules([entry])).toThrow(
      `http.allow_private has "${entry}", whose address is not the first of its range: write ${both}`,
    )
  })
})
