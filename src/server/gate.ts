import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../config/callers/caller.ts'
import { LOCAL_CALLER } from '../config/callers/callers.ts'
import type { Scope } from '../config/callers/scopes.ts'
import type { Installation } from '../config/installation.ts'
import { HttpProblem } from './http-problem.ts'
import { isLoopbackHost } from './loopback.ts'
import { isOfOwnPage, keyInCookie } from './page/session-cookie.ts'

const USUAL = 'Bearer '
const BEARER = /^Bearer +(\S+) *$/i

/** Finds who sends a request, and lets in who may. */
export class Gate {
  readonly #installation: Installation
  #local: boolean

  /** `local`: as long as there are no keys, whoever is at this machine needs none. */
  constructor(installation: Installation, local: boolean) {
    this.#installation = installation
    this.#local = local
  }

  /** Whether requests without a key are answered. It ends with the first key, and does not come back. */
  get local(): boolean {
    if (this.#local && this.#installation.callers.size > 0) {
      this.#local = false
      this.#installation.log.info({}, 'There is an API key now: requests without one are refused from here on')
    }
    return this.#local
  }

  /** Without keys, web pages are kept out: by the name that they believe to talk to, and by where they come from. */
  checkOrigin({ host = '', origin }: IncomingHttpHeaders): void {
    if (!this.local) return
    if (!isLoopbackHost(host)) throw new HttpProblem(403, 'The Host header must name this machine', HOW_OTHERS)
    if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
      throw new HttpProblem(403, 'Requests of other origins are refused', HOW_OTHERS)
    }
  }

  /** Who sends the request; a problem where that is nobody, or one who may not. */
  enter(headers: IncomingHttpHeaders, scope: Scope): Caller {
    const key = keyOf(headers)
    const caller = this.#holder(key)
    if (caller === undefined) throw unauthorized(key)
    if (!caller.scopes.has(scope)) throw forbidden(scope)
    return caller
  }

  /** Who sends the request, whatever it may; undefined where that is nobody. */
  find(headers: IncomingHttpHeaders): Caller | undefined {
    return this.#holder(keyOf(headers))
  }

  #holder(key: string | undefined): Caller | undefined {
    // Without keys, whatever is sent for one counts for nothing: many clients cannot but send some.
    const caller = key === undefined ? undefined : this.#installation.callers.find(key)
    return caller ?? (this.local ? LOCAL_CALLER : undefined)
  }
}

/** The key that a request carries; one that cannot be read is a wrong one, not none. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-api-key': key } = headers
  if (authorization?.startsWith(USUAL)) return authorization.slice(USUAL.length).trim()
  if (authorization !== undefined) return BEARER.exec(authorization)?.[1] ?? ''
  return key === undefined ? keyOfPage(headers) : (key as string)
}

/** The key that the browser kept when somebody signed in. It counts only where our own page asks. */
function keyOfPage(headers: IncomingHttpHeaders): string | undefined {
  const key = keyInCookie(headers)
  if (key !== undefined && !isOfOwnPage(headers)) {
    throw new HttpProblem(403, 'Requests of other origins are refused', 'a key in a cookie counts for the page only')
  }
  return key
}

const HOW_OTHERS = 'without API keys the server answers only this machine; make a key with "npx toolyard keys create"'

const unauthorized = (key: string | undefined): HttpProblem =>
  new HttpProblem(
    401,
    key === undefined ? 'An API key is required' : 'The API key is not valid',
    key === undefined
      ? 'send it as "Authorization: Bearer <key>" or "X-API-Key: <key>"'
      : 'it is unknown, revoked or past its time',
    { 'www-authenticate': 'Bearer' },
  )

const forbidden = (scope: Scope): HttpProblem => new HttpProblem(403, `The API key lacks the scope '${scope}'`)
