import ipaddr from 'ipaddr.js'
import { type Address, readAddress } from './read-address.ts'
import { innerAddress, isMetadata, specialName } from './special-addresses.ts'

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
