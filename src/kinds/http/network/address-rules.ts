import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An address, read. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * An address as resolvers and URLs write it. IPv4 in the form of IPv6 (`::ffff:10.0.0.1`) is the IPv4 address: that is
 * where the system connects to. Undefined where the text is no address, or names an interface of this machine.
 */
export function readAddress(text: string): Address | undefined {
  const family = isIP(text)
  if (family === 4) return ipaddr.IPv4.parse(text)
  if (family !== 6 || text.includes('%')) return undefined
  const address = ipaddr.IPv6.parse(inHex(text))
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** ipaddr.js takes `::8.8.8.8`, which is not the mapped form, for the mapped form; in hexadecimal it does not. */
const inHex = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1)

/** The first address of a range, and the length of its prefix. */
export type AddressRange = readonly [Address, number]

/** Which addresses may be dialled: those of the Internet, and what the operator has opened. */
export class AddressRules {
  readonly #open: readonly AddressRange[]

  /** Takes addresses and CIDRs; throws a sentence about the first that is neither. */
  constructor(allowPrivate: readonly string[] = []) {
    this.#open = allowPrivate.map((entry) => readRange(entry, 'http.allow_private'))
  }

  /** What the address is, such as `a private address`, where it may not be dialled. */
  refusal(address: string): string | undefined {
    const read = readAddress(address)
    if (read === undefined) return 'no plain IP address'
    const outer = this.#refusal(read)
    if (outer !== undefined) return outer
    const inner = innerAddress(read)
    const refused = inner && this.#refusal(inner)
    return refused && `an IPv6 address that stands for ${refused}`
  }

  #refusal(address: Address): string | undefined {
    if (isMetadata(address)) return this.#opens(address, true) ? undefined : 'a metadata address of a cloud'
    const special = specialName(address)
    return special !== undefined && this.#opens(address, false) ? undefined : special
  }

  #opens(address: Address, alone: boolean): boolean {
    return this.#open.some((range) => isInRange(address, range) && (!alone || range[1] === widest(address)))
  }
}

const widest = (address: Address): number => (address instanceof ipaddr.IPv4 ? 32 : 128)

/** Whether an address is in a range; an IPv4 address is in no range of IPv6. */
export const isInRange = (address: Address, [base, bits]: AddressRange): boolean =>
  base.kind() === address.kind() && address.match(base, bits)

/** Reads an address or a CIDR; throws a sentence about one that is neither. `place` is where it is configured. */
export function readRange(entry: string, place: string): AddressRange {
  const [, text = '', digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  const address = readAddress(text)
  // The mapped form is read as IPv4, whose prefix is the part behind the first 96 bits.
  const before = address instanceof ipaddr.IPv4 && text.includes(':') ? 96 : 0
  const bits = digits === undefined ? address && widest(address) : Number(digits) - before
  if (address === undefined || bits === undefined || bits < 0 || bits > widest(address)) {
    throw new Error(
      `${place} has ${JSON.stringify(entry)}, which is neither an IP address nor a CIDR: write it like "10.1.2.0/24", "10.1.2.3" or "fd12:3456::/48"`,
    )
  }
  const first = firstOf(address, bits)
  if (first !== address.toString()) {
    throw new Error(
      `${place} has ${JSON.stringify(entry)}, whose address is not the first of its range: write "${first}/${bits}" for the range or "${address}" for the one address`,
    )
  }
  return [address, bits]
}

const firstOf = (address: Address, bits: number): string =>
  (address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${address}/${bits}`).toString()

const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3')

/** Given back when the first network of tunnels over IPv4 ended (RFC 3701), and unknown to ipaddr.js. */
const RETURNED = ipaddr.IPv6.parseCIDR('3ffe::/16')

const NAMES: Readonly<Record<string, string>> = {
  unspecified: 'an unspecified address',
  broadcast: 'a broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address',
  loopback: 'a loopback address',
  carrierGradeNat: 'a shared address behind a carrier',
  private: 'a private address',
  uniqueLocal: 'a private address',
  deprecatedSiteLocal: 'a private address',
}
const RESERVED = 'a reserved address'

/** Where clouds keep the credentials of a machine. One of them, 168.63.129.16, looks like any address of the Internet. */
const METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
])

/** Whether a machine in a cloud gets its credentials from here. */
const isMetadata = (address: Address): boolean => METADATA.has(address.toString())

/** What an address is, where it is no address of one machine on the Internet. */
function specialName(address: Address): string | undefined {
  const range: string = address.range()
  if (range !== 'unicast') return NAMES[range] ?? RESERVED
  if (address instanceof ipaddr.IPv4) return undefined
  return address.match(GLOBAL) && !address.match(RETURNED) ? undefined : RESERVED
}

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/** Not only under a prefix that is known for it: any network may hold such addresses. */
const isIsatap = ({ parts }: ipaddr.IPv6): boolean => ((parts[4] ?? 0) & ~0x0200) === 0 && parts[5] === 0x5efe

/** The IPv4 address that a packet to this IPv6 address comes to in the end, where the prefix alone does not say no. */
function innerAddress(address: Address): Address | undefined {
  if (address instanceof ipaddr.IPv4 || !(address.match(NAT64) || isIsatap(address))) return undefined
  return new ipaddr.IPv4(address.toByteArray().slice(12))
}
