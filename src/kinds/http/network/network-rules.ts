import { isIP, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import type { HttpSettings } from '../definition/http-implementation.ts'
import { AddressRules } from './address-rules.ts'

export interface ToolNetwork {
  /** Why the URL is blocked and what to do about it; undefined if it is allowed. */
  refusal(url: URL): string | undefined
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:'])
/** Redirects can contain URLs of any length. */
const MAX_QUOTED = 100

export class NetworkRules {
  readonly addresses: AddressRules
  readonly #domains: DomainList | undefined

  constructor(settings: HttpSettings) {
    this.addresses = new AddressRules(settings.allow_private)
    this.#domains = settings.allowed_domains && new DomainList(settings.allowed_domains, 'http.allowed_domains')
  }

  /** The rules for a tool with this URL; throws if a domain is malformed. */
  forTool(url: URL, allowedDomains?: readonly string[]): ToolNetwork {
    const own = allowedDomains && new DomainList(allowedDomains, 'implementation.allowed_domains')
    const home = hostName(url.hostname) ?? url.hostname
    const ports: ReadonlySet<string> = new Set(['', '80', '443', url.port])
    return {
      refusal: (asked) => {
        const host = hostName(asked.hostname)
        return (
          formRefusal(asked, host, ports) ??
          (host === undefined ? undefined : (this.#addressRefusal(host) ?? this.#domainRefusal(host, home, own)))
        )
      },
    }
  }

  #addressRefusal(host: string): string | undefined {
    const what = isIP(host) === 0 ? undefined : this.addresses.refusal(host)
    return what && addressRefusal(host, what)
  }

  #domainRefusal(host: string, home: string, own: DomainList | undefined): string | undefined {
    const outside = (list: string): string =>
      `The host '${host}' was refused: it is not in ${list}. If the tool is meant to reach it, add "${host}" there.`
    if (this.#domains?.has(host) === false) return outside('http.allowed_domains')
    if (own?.has(host) === false) return outside("the tool's implementation.allowed_domains")
    if (this.#domains !== undefined || own !== undefined || host === home) return undefined
    return `The host '${host}' was refused: without allowed_domains, a tool may only reach the host of its own URL, '${home}'. If it is meant to reach both, set its implementation.allowed_domains to ["${home}", "${host}"].`
  }
}

function formRefusal(url: URL, host: string | undefined, ports: ReadonlySet<string>): string | undefined {
  if (!SCHEMES.has(url.protocol)) {
    return `The scheme '${cut(url.protocol.slice(0, -1))}' was refused: HTTP tools use http and https only.`
  }
  if (host === undefined) return `The host '${cut(url.hostname)}' was refused: it is not a host name.`
  if (url.username !== '' || url.password !== '') {
    return `A URL of the host '${host}' was refused: it contains a user name or a password. Write those in the tool's implementation.auth instead.`
  }
  if (ports.has(url.port)) return undefined
  return `Port ${url.port} of the host '${host}' was refused: a tool may use the ports 80 and 443, and the one in its own URL. If another is meant, write it in the tool's implementation.url.`
}

const cut = (text: string): string => (text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)

/** A list of hosts: `api.example.com` is one host, `*.example.com` all its sub-domains. */
export class DomainList {
  readonly #hosts = new Set<string>()
  readonly #parents: string[] = []

  /** Throws if an entry isn't a host; `where` names the list in the message. */
  constructor(entries: readonly string[], where: string) {
    for (const entry of entries) {
      const isParent = entry.startsWith('*.')
      const host = hostName(isParent ? entry.slice(2) : entry)
      if (host === undefined || (isParent && isIP(host) !== 0)) {
        throw new Error(
          `${where} has ${JSON.stringify(entry)}, which is not a host name: write it like "api.example.com", or "*.example.com" for all its sub-domains, without scheme, port or path`,
        )
      }
      if (isParent) this.#parents.push(`.${host}`)
      else this.#hosts.add(host)
    }
  }

  /** Takes a host normalized by `hostName`. */
  has(host: string): boolean {
    return this.#hosts.has(host) || this.#parents.some((parent) => host.endsWith(parent))
  }
}

const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/
/** Characters that end or split a host in a URL, or are silently dropped from it. */
const FOREIGN = /[\s/\\?#@:%[\]]/

/**
 * Normalizes a host for comparison: lower case, punycode, no trailing dot, compressed IPv6 without brackets. Returns
 * undefined if the text isn't a host.
 */
export function hostName(text: string): string | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (isIPv6(bare)) return bare.includes('%') ? undefined : new URL(`http://[${bare}]`).hostname.slice(1, -1)
  if (FOREIGN.test(text)) return undefined
  const name = domainToASCII(text).replace(/\.$/, '')
  return NAME.test(name) ? name : undefined
}

/** Names no address except one in the URL itself: resolved addresses of internal hosts stay private. */
const addressRefusal = (host: string, what: string): string =>
  isIP(host) === 0
    ? `The host '${host}' was refused: it resolves to ${what}. If tools are meant to reach it, add its address to http.allow_private.`
    : `The host '${host}' was refused: it is ${what}. If tools are meant to reach it, add "${host}" to http.allow_private.`

export class RefusedAddress extends Error {
  readonly code = 'ERR_ADDRESS_REFUSED'

  constructor(host: string, what: string) {
    super(addressRefusal(host, what))
    this.name = 'RefusedAddress'
  }
}

const MAX_CAUSES = 8

export function refusedAddress(error: unknown): RefusedAddress | undefined {
  let looked: unknown = error
  for (let left = MAX_CAUSES; left > 0 && looked instanceof Error; left--) {
    if (looked instanceof RefusedAddress) return looked
    looked = looked.cause
  }
  return undefined
}
