import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Caller } from '../config/callers/caller.ts'
import { LOCAL_CALLER } from '../config/callers/callers.ts'
import type { Scope } from '../config/callers/scopes.ts'
import type { Installation } from '../config/installation.ts'
import { HttpProblem } from './http-problem.ts'
import { isLoopbackHost } from './loopback.ts'
import { isOfOwnPage, keyInCookie } from './page/session-cookie.ts'
import { UnknownCallers } from './unknown-callers.ts'

const USUAL = 'Bearer '
const BEARER = /^Bearer +(\S+) *$/i

/** Finds who sends a request, and lets in who may. */
export class Gate {
  readonly #installation: Installation
  readonly #unknown: UnknownCallers
  #local: boolean

  /** `local`: as long as there are no keys, whoever is at this machine needs none. */
  constructor(installation: Installation, local: boolean) {
    this.#installation = installation
    this.#unknown = new UnknownCallers(installation)
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

  /**
   * The caller of the request. Throws 401 without a valid key, 429 if its address sends many such requests, and 403 if
   * the key lacks the scope. Needs the headers only, so that nothing of the body is read before.
   */
  enter(request: IncomingMessage, scope: Scope | undefined): Caller {
    const key = keyOf(request.headers)
    const caller = this.#holder(key)
    if (caller === undefined) {
      this.#unknown.count(request)
      throw unauthorized(key)
    }
    if (scope === undefined || !caller.scopes.has(scope)) throw forbidden(scope)
    return caller
  }

  /** The caller of the request, whatever its scopes; undefined without a valid key. A wrong key counts as in `enter`. */
  find(request: IncomingMessage): Caller | undefined {
    const key = keyOf(request.headers)
    const caller = this.#holder(key)
    if (caller === undefined && key !== undefined) this.#unknown.count(request)
    return caller
  }

  /** Counts an attempt to sign in, before its body is read. Throws 429 if the address has made too many. */
  countSignIn(request: IncomingMessage): void {
    if (!this.local) this.#unknown.count(request)
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

const forbidden = (scope: Scope | undefined): HttpProblem =>
  new HttpProblem(403, `The API key lacks the scope '${scope}'`)
