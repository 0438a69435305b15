import type { IncomingHttpHeaders } from 'node:http'

const NAME = 'toolyard_key'
const KEPT_SECONDS = 30 * 24 * 60 * 60
const FOUND = new RegExp(`(?:^|;\\s*)${NAME}=([^;\\s]+)`)

/** The key that a browser kept for this server; undefined where it kept none. */
export const keyInCookie = ({ cookie }: IncomingHttpHeaders): string | undefined =>
  cookie === undefined ? undefined : FOUND.exec(cookie)?.[1]

/** Lets the browser keep a key where no script reads it, and send it to this server only from its own pages. */
export const cookieWith = (key: string, { origin }: IncomingHttpHeaders): string =>
  [`${NAME}=${key}`, `Max-Age=${KEPT_SECONDS}`, ...ATTRIBUTES, ...secure(origin)].join('; ')

/** Lets the browser forget the key. */
export const emptyCookie = ({ origin }: IncomingHttpHeaders): string =>
  [`${NAME}=`, 'Max-Age=0', ...ATTRIBUTES, ...secure(origin)].join('; ')

const ATTRIBUTES = ['Path=/', 'HttpOnly', 'SameSite=Strict']

/** A page that came encrypted, through a proxy, keeps the key for encrypted requests only. */
const secure = (origin: string | undefined): string[] => (origin?.startsWith('https://') ? ['Secure'] : [])

/**
 * Whether a request comes from a page of this very server. Browsers say where a request comes from; a cookie they send
 * along with requests of other pages on the same machine, too, so that it alone proves nothing.
 */
export function isOfOwnPage({ host = '', origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin !== undefined) return origin.toLowerCase().replace(/^https?:\/\//, '') === host.toLowerCase()
  return site === undefined || site === 'same-origin' || site === 'none'
}
