import { Unmappable } from './openapi-error.ts'
import { quoted } from './raw.ts'

/** Where relative addresses start, and what goes before the document's own. */
export interface Bases {
  readonly baseUrl?: string
  readonly documentUrl?: string
}

/**
 * The address that the paths of an operation are appended to, without a slash at its end: the first over https, else the
 * first. Throws `Unmappable` where there is none that can be used.
 */
export function serverUrl(servers: readonly string[], { baseUrl, documentUrl }: Bases): string {
  if (baseUrl !== undefined) {
    const relative = servers.find((server) => isRelative(server) && server !== '/')
    return checked(relative === undefined ? baseUrl : new URL(relative, `${baseUrl.replace(/(?<!\/)\/+$/, '')}/`).href)
  }
  const written = servers.length > 0 || documentUrl === undefined ? servers : ['/']
  const absolute = written.flatMap((server) => absoluteAddress(server, documentUrl) ?? [])
  const chosen = absolute.find((server) => /^https:/i.test(server)) ?? absolute[0]
  if (chosen !== undefined) return checked(chosen)
  if (servers.length === 0) throw new Unmappable('the document names no server: say where the API is with --base-url')
  throw new Unmappable(
    `the server ${quoted(servers[0] ?? '')} is no whole address: say where the API is with --base-url`,
  )
}

const isRelative = (address: string): boolean => !/^[a-z][a-z0-9+.-]*:|^\/\//i.test(address)

function absoluteAddress(address: string, documentUrl: string | undefined): string | undefined {
  if (!isRelative(address)) return address.startsWith('//') ? `https:${address}` : address
  return documentUrl === undefined ? undefined : URL.parse(address, documentUrl)?.href
}

function checked(address: string): string {
  const url = URL.parse(address)
  const named = `the server ${quoted(address)}`
  const instead = 'say where the API is with --base-url'
  // Variables are for those who write definitions, not for strangers' documents.
  if (/[{}]/.test(address)) throw new Unmappable(`${named} has a variable without a default: ${instead}`)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Unmappable(`${named} is no http or https address: ${instead}`)
  }
  if (url.username !== '' || url.password !== '')
    throw new Unmappable(`${named} holds a user name or a password: ${instead}`)
  if (url.search !== '') throw new Unmappable(`${named} has a query: ${instead}`)
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`
}
