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
