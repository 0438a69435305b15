import { isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'

const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/
/** What ends or splits a host in a URL, or is dropped from it unseen. */
const FOREIGN = /[\s/\\?#@:%[\]]/

/**
 * A host in the one form in which hosts are compared: lower case, punycode, without a dot at its end, IPv6 short and
 * without brackets. Undefined where the text is no host.
 */
export function hostName(text: string): string | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (isIPv6(bare)) return bare.includes('%') ? undefined : new URL(`http://[${bare}]`).hostname.slice(1, -1)
  if (FOREIGN.test(text)) return undefined
  const name = domainToASCII(text).replace(/\.$/, '')
  return NAME.test(name) ? name : undefined
}
