import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * Parses an address. IPv4 mapped into IPv6 (`::ffff:10.0.0.1`) becomes the IPv4 address that the system connects to.
 * Returns undefined if the text isn't an address or has a zone (`%eth0`).
 */
export function readAddress(text: string): Address | undefined {
  const family = isIP(text)
  if (family === 4) return ipaddr.IPv4.parse(text)
  if (family !== 6 || text.includes('%')) return undefined
  const address = ipaddr.IPv6.parse(inHex(text))
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** ipaddr.js reads `::8.8.8.8` as a mapped address, which it isn't; in hexadecimal it reads it correctly. */
const inHex = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1)

export type AddressRange = readonly [Address, number]

/** The addresses that tools may connect to: public ones, and private ones that the operator allowed. */
export class AddressRules {
  readonly #open: readonly AddressRange[]

  constructor(allowPrivate: readonly string[] = []) {
    this.#open = allowPrivate.map((entry) => readRange(entry, 'http.allow_private'))
  }

  /** Why the address is blocked, such as `a private address`; undefined if it is allowed. */
  refusal(address: string): string | undefined {
    const read = readAddress(address)
    if (read === undefined) return 'no plain IP address'
    const outer = this.#refusal(read)
    if (outer !== undefined) return outer
    const inner = innerAddress(read)
    const refused = inner && this.#refusal(inner)
    return refused && `an IPv6 address that stands for ${refused}`
  }

  /** Whether the address is blocked, and one of this machine or of a private network: people may have a use for it. */
  isAllowable(address: string): boolean {
    const read = readAddress(address)
    if (read === undefined || isMetadata(read) || this.refusal(address) === undefined) return false
    return ['loopback', 'private', 'uniqueLocal'].includes(read.range())
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

/** Whether an address is in a range. An IPv4 address is never in an IPv6 range. */
export const isInRange = (address: Address, [base, bits]: AddressRange): boolean =>
  base.kind() === address.kind() && address.match(base, bits)

/** Reads an address or a CIDR; throws if it is neither. `place` is its key in the configuration. */
export function readRange(entry: string, place: string): AddressRange {
  const [, text = '', digits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
  const address = readAddress(text)
  // Mapped addresses are read as IPv4, so the first 96 bits of the prefix don't count.
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

/** The former 6bone (RFC 3701), which ipaddr.js doesn't know. */
const RETURNED = ipaddr.IPv6.parseCIDR('3ffe::/16')

const NAMES: Readonly<Record<string, string>> = {
  unspecified: 'an unspecified address',
  broadcast: 'a broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address',
  loopback: 'a loopback address',
  carrierGradeNat: 'a carrier-grade NAT address',
  private: 'a private address',
  uniqueLocal: 'a private address',
  deprecatedSiteLocal: 'a private address',
}
const RESERVED = 'a reserved address'

/** Metadata services of clouds, which hand out credentials. 168.63.129.16 looks like a public address. */
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

const isMetadata = (address: Address): boolean => METADATA.has(address.toString())

/** The kind of a special address; undefined for a public unicast address. */
function specialName(address: Address): string | undefined {
  const range: string = address.range()
  if (range !== 'unicast') return NAMES[range] ?? RESERVED
  if (address instanceof ipaddr.IPv4) return undefined
  return address.match(GLOBAL) && !address.match(RETURNED) ? undefined : RESERVED
}

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/** ISATAP has no prefix of its own: any network may use such addresses. */
const isIsatap = ({ parts }: ipaddr.IPv6): boolean => ((parts[4] ?? 0) & ~0x0200) === 0 && parts[5] === 0x5efe

/** The IPv4 address inside a NAT64 or ISATAP address. */
function innerAddress(address: Address): Address | undefined {
  if (address instanceof ipaddr.IPv4 || !(address.match(NAT64) || isIsatap(address))) return undefined
  return new ipaddr.IPv4(address.toByteArray().slice(12))
}
