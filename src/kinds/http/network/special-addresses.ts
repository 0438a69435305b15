import ipaddr from 'ipaddr.js'
import type { Address } from './read-address.ts'

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
export const isMetadata = (address: Address): boolean => METADATA.has(address.toString())

/** What an address is, where it is no address of one machine on the Internet. */
export function specialName(address: Address): string | undefined {
  const range: string = address.range()
  if (range !== 'unicast') return NAMES[range] ?? RESERVED
  if (address instanceof ipaddr.IPv4) return undefined
  return address.match(GLOBAL) && !address.match(RETURNED) ? undefined : RESERVED
}

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/** Not only under a prefix that is known for it: any network may hold such addresses. */
const isIsatap = ({ parts }: ipaddr.IPv6): boolean => ((parts[4] ?? 0) & ~0x0200) === 0 && parts[5] === 0x5efe

/** The IPv4 address that a packet to this IPv6 address comes to in the end, where the prefix alone does not say no. */
export function innerAddress(address: Address): Address | undefined {
  if (address instanceof ipaddr.IPv4 || !(address.match(NAT64) || isIsatap(address))) return undefined
  return new ipaddr.IPv4(address.toByteArray().slice(12))
}
