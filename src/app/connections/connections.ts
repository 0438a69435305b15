import { hash, randomBytes } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { connectionProblem } from '../../config/connection-config.ts'
import type { AccountUser, UserAccounts } from '../../core/call-context.ts'
import { pause } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import type { Environment } from '../../core/environment.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { ConnectionKey, ConnectionStore, StoredConnection, Tokens } from '../../core/storage/connection-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Actor, AuditEvents } from '../callers/audit-events.ts'
import { type Caller, LOCAL_CALLER } from '../callers/callers.ts'
import { userId } from '../callers/users.ts'
import type { TextSeal } from '../durable/sealed-text.ts'
import { ConnectionProvider, type TokenSet, TokensRefused } from './connection-provider.ts'

const LINK_MS = 600_000
const MAX_FLOWS = 20
const MAX_OF_TENANT = 100_000
/** Longer than a request to the provider may take. */
const LEASE_MS = 30_000
/** A token is renewed a little before it expires. */
const EARLY_MS = 30_000
const FIRST_POLL_MS = 20
const MAX_POLL_MS = 500
const STORE_ATTEMPTS = 3
const RESEALED_AT_ONCE = 100

export const NO_KEY =
  'Connections need an encryption key, because tokens are stored encrypted: set TOOLYARD_ENCRYPTION_KEY or TOOLYARD_ENCRYPTION_KEY_FILE'

/** Why an account could not be connected. */
export type ConnectFault = 'denied' | 'expired' | 'refused' | 'unavailable'

export class ConnectError extends Error {
  readonly fault: ConnectFault

  constructor(fault: ConnectFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The user has to connect an account. Calls that wait together each report it under their own name. */
class NotConnected extends Error {}

/** What people see of a connection. */
export interface ConnectionView {
  readonly provider: string
  readonly title: string
  readonly status: 'connected' | 'broken' | 'none'
  readonly scopes: readonly string[]
  readonly user: string
  readonly connected_at: string | null
  readonly renewed_at: string | null
}

interface ConnectionParts {
  readonly store: ConnectionStore
  readonly seal: TextSeal
  readonly events: AuditEvents
  readonly clock: Clock
  readonly log: Log
  readonly config: () => Config
  readonly env: () => Environment
}

/** The accounts of users at the configured OAuth providers. Tokens are encrypted, and bound to tenant, user and provider. */
export class Connections implements UserAccounts {
  readonly #parts: ConnectionParts
  /** Renewals in progress. They end even if all callers leave: a refresh token may work only once. */
  readonly #renewals = new Map<string, Promise<string>>()

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  problem(provider: string, url: URL | null, { connections } = this.#parts.config()): string | undefined {
    if (this.#parts.seal.keyId === undefined) return NO_KEY
    return connectionProblem(provider, url, connections)
  }

  async require(name: string, user: AccountUser, tool: string): Promise<void> {
    const provider = this.#provider(name)
    const key = keyOf(name, user)
    const stored = await this.#parts.store.get(key)
    const isUsable = stored !== undefined && !stored.broken
    const isRenewable = isUsable && (!this.#isOver(stored) || this.#open(stored).refresh_token !== undefined)
    if (!isRenewable) throw this.#required(provider, key, tool)
  }

  async token(name: string, user: AccountUser, tool: string, refused?: string): Promise<string> {
    const provider = this.#provider(name)
    const key = keyOf(name, user)
    try {
      const stored = await this.#stored(key)
      const { access_token } = this.#open(stored)
      if (!this.#isOver(stored) && access_token !== refused) return access_token
      const id = JSON.stringify(key)
      const running = this.#renewals.get(id) ?? this.#begin(id, provider, key, refused)
      return await running
    } catch (error) {
      throw error instanceof NotConnected ? this.#required(provider, key, tool) : error
    }
  }

  has(provider: string): boolean {
    return Object.hasOwn(this.#parts.config().connections ?? {}, provider)
  }

  /** The connections of a user, and the providers without one. */
  async list(tenant: string, user: string): Promise<ConnectionView[]> {
    const { store, config } = this.#parts
    const stored = await store.list(tenant, user, 1_000)
    const names = new Set([...Object.keys(config().connections ?? {}), ...stored.map(({ provider }) => provider)])
    return [...names].map((name) =>
      this.#view(
        name,
        user,
        stored.find(({ provider }) => provider === name),
      ),
    )
  }

  /** All connections of a tenant, for its administrator. */
  async listAll(tenant: string): Promise<ConnectionView[]> {
    const all = await this.#parts.store.list(tenant, undefined, 1_000)
    return all.map((stored) => this.#view(stored.provider, stored.user, stored))
  }

  /** Where the user allows the access, and the state that the browser must send back. Rejects with a ConnectError. */
  async start(
    tenant: string,
    user: string,
    asked: { readonly provider: string } | { readonly link: string },
  ): Promise<{ readonly url: string; readonly state: string; readonly provider: string }> {
    const { store, seal, clock } = this.#parts
    const now = clock.wall()
    const { name, id } = 'link' in asked ? this.#readLink(tenant, user, asked.link) : newLink(asked.provider)
    const provider = this.#provider(name)
    const oauth = await import('oauth4webapi')
    const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()]
    const key = { tenant, user, provider: name }
    const flow = {
      ...{ ...key, id, state_hash: hash('sha256', state), expires_at: now + LINK_MS },
      verifier: seal.seal(verifier, placeOf('verifier', key)),
    }
    if (!(await store.begin(flow, now, MAX_FLOWS))) {
      throw new ConnectError('expired', 'this link was used before: repeat the call for a new one')
    }
    return { url: await provider.authorizationUrl(state, verifier), state, provider: name }
  }

  /**
   * Takes the answer of a provider, for the user who has started it. `state` is that of the browser. Rejects with a
   * ConnectError.
   */
  async finish(
    name: string,
    answer: URLSearchParams,
    state: string | undefined,
    by: Pick<Caller, 'tenant' | 'id' | 'name'>,
  ): Promise<void> {
    const { store, seal, clock, events } = this.#parts
    const isOwn = state !== undefined && answer.get('state') === state
    const flow = isOwn ? await store.finish(hash('sha256', state), clock.wall()) : undefined
    if (flow === undefined || flow.provider !== name) {
      throw new ConnectError('expired', 'this browser has not started to connect the account, or too long ago')
    }
    if (flow.tenant !== by.tenant || flow.user !== by.id) {
      const message = 'another user has started to connect the account: sign in as that user and start again'
      throw new ConnectError('refused', message)
    }
    const provider = this.#provider(name)
    const key = { tenant: flow.tenant, user: flow.user, provider: name }
    if (answer.get('error') === 'access_denied') throw new ConnectError('denied', 'the access was not allowed')
    const verifier = seal.open(flow.verifier, placeOf('verifier', key))
    const tokens = await provider.exchange(answer, state as string, verifier).catch((error: unknown) => {
      this.#warn(name, error, 'An account could not be connected')
      throw error instanceof TokensRefused
        ? new ConnectError('refused', 'the provider gave no token')
        : new ConnectError('unavailable', 'the provider does not answer')
    })
    await store.put(key, this.#seal(key, tokens, provider.settings.scopes?.join(' ')), clock.wall(), MAX_OF_TENANT)
    await events.record('connection.created', { by, tenant: key.tenant, subject: name })
  }

  /** Deletes a connection and revokes its tokens at the provider. `revoked` is whether the provider has confirmed it. */
  async remove(key: ConnectionKey, by: Actor): Promise<{ readonly revoked: boolean } | undefined> {
    const { store, events, config } = this.#parts
    const stored = await store.remove(key)
    if (stored === undefined) return undefined
    const tokens = Object.hasOwn(config().connections ?? {}, key.provider) && attempt(() => this.#open(stored))
    const revoked = tokens ? await this.#revoke(this.#provider(key.provider), tokens) : false
    const detail = { user: key.user, revoked }
    await events.record('connection.removed', { by, tenant: key.tenant, subject: key.provider, detail })
    return { revoked }
  }

  /** Encrypts all stored texts with the newest key. Texts whose key is missing are counted as failed. */
  async reseal(): Promise<{ readonly changed: number; readonly failed: number }> {
    const { store, seal } = this.#parts
    if (seal.keyId === undefined) throw new ToolExecutionError('EXECUTION_ERROR', NO_KEY)
    for (let changed = 0; ; ) {
      const texts = await store.sealed(seal.keyId, RESEALED_AT_ONCE)
      let done = 0
      for (const text of texts) {
        const opened = attempt(() => seal.open(text.text, text.place))
        if (opened !== undefined && (await store.reseal(text, seal.seal(opened, text.place)))) done++
      }
      changed += done
      if (done === 0) return { changed, failed: texts.length }
    }
  }

  /** Waits for renewals: a lost refresh token can't be replaced. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#renewals.values())
  }

  #provider(name: string): ConnectionProvider {
    const { seal, config, env } = this.#parts
    if (seal.keyId === undefined) throw new ToolExecutionError('EXECUTION_ERROR', NO_KEY)
    const { connections = {}, server, http } = config()
    const settings = Object.hasOwn(connections, name) ? connections[name] : undefined
    // Each provider has an address of its own, so that none can answer for another.
    const redirectUri = `${server?.public_url}/api/connections/${encodeURIComponent(name)}/callback`
    const parts = { env: env(), allowPrivate: http?.allow_private, redirectUri }
    if (settings !== undefined) return new ConnectionProvider(name, settings, parts)
    const message = `There is no provider ${JSON.stringify(name)} under connections`
    throw new ToolExecutionError('EXECUTION_ERROR', message)
  }

  /** The error of a call whose user has to connect an account. Nothing was sent. */
  #required(provider: ConnectionProvider, key: ConnectionKey, tool: string): ToolExecutionError {
    const { seal, clock, config } = this.#parts
    const link = seal.seal(
      JSON.stringify([provider.name, clock.wall() + LINK_MS, newLink('').id]),
      placeOf('link', { ...key, provider: '' }),
    )
    const connect_url = `${config().server?.public_url}/connect?link=${encodeURIComponent(link)}`
    const message = `Tool '${tool}' needs your account at ${provider.title}. Connect it at ${connect_url} and repeat the call.`
    const details = { connect_url, provider: provider.name }
    return new ToolExecutionError('CONNECTION_REQUIRED', message, { details })
  }

  /** A link opens only for the user who caused it. */
  #readLink(tenant: string, user: string, link: string): { readonly name: string; readonly id: string } {
    const { seal, clock } = this.#parts
    const text = attempt(() => seal.open(link, placeOf('link', { tenant, user, provider: '' })))
    const [name, until, id] = text === undefined || text === link ? [] : JSON.parse(text)
    if (name === undefined) {
      throw new ConnectError('refused', 'this link is for another user: sign in as the user who made the call')
    }
    if (until <= clock.wall()) throw new ConnectError('expired', 'this link has expired: repeat the call for a new one')
    return { name, id }
  }

  async #stored(key: ConnectionKey): Promise<StoredConnection> {
    const stored = await this.#parts.store.get(key)
    if (stored === undefined || stored.broken) throw new NotConnected()
    return stored
  }

  #isOver({ expires_at }: StoredConnection): boolean {
    return expires_at !== null && expires_at - EARLY_MS <= this.#parts.clock.wall()
  }

  #begin(id: string, provider: ConnectionProvider, key: ConnectionKey, refused: string | undefined): Promise<string> {
    const renewal = this.#renew(provider, key, refused).finally(() => this.#renewals.delete(id))
    this.#renewals.set(id, renewal)
    return renewal
  }

  /** Renews the tokens, or waits until another server has done it. */
  async #renew(provider: ConnectionProvider, key: ConnectionKey, refused: string | undefined): Promise<string> {
    const { store, clock } = this.#parts
    const end = clock.now() + 2 * LEASE_MS
    for (let pauseMs = FIRST_POLL_MS; clock.now() < end; pauseMs = Math.min(2 * pauseMs, MAX_POLL_MS)) {
      const stored = await this.#stored(key)
      const { access_token, refresh_token } = this.#open(stored)
      if (!this.#isOver(stored) && access_token !== refused) return access_token
      if (refresh_token === undefined) throw new NotConnected()
      const now = clock.wall()
      if (await store.lease(key, stored.version, now, now + LEASE_MS)) {
        const renewed = await this.#refresh(provider, stored, refresh_token)
        if (renewed !== undefined) return renewed
      } else await pause(pauseMs, clock)
    }
    throw provider.unavailable()
  }

  /** The new access token; undefined if the connection has changed meanwhile. */
  async #refresh(
    provider: ConnectionProvider,
    stored: StoredConnection,
    refreshToken: string,
  ): Promise<string | undefined> {
    const { store, clock, events } = this.#parts
    let tokens: TokenSet
    try {
      tokens = await provider.refresh(refreshToken)
    } catch (error) {
      this.#warn(provider.name, error, 'A connection could not be renewed')
      if (!(error instanceof TokensRefused) || error.error !== 'invalid_grant') {
        await store.release(stored, stored.version)
        throw error instanceof TokensRefused ? provider.unavailable() : error
      }
      // Never deleted: another server may have renewed it, or the user connects it again.
      if (await store.renew(stored, stored.version, 'broken', clock.wall())) {
        const { tenant, user } = stored
        void events.record('connection.broken', { tenant, subject: provider.name, failed: true, detail: { user } })
      }
      return undefined
    }
    const next = { ...tokens, refresh_token: tokens.refresh_token ?? refreshToken }
    if (await this.#keep(stored, this.#seal(stored, next, stored.scopes))) return next.access_token
    // It was removed, or replaced by the user: nobody knows these tokens.
    await this.#revoke(provider, next)
    return undefined
  }

  /** The provider accepts the former refresh token no longer, so a failure of the store is not the end. */
  async #keep(stored: StoredConnection, tokens: Tokens): Promise<boolean> {
    const { store, clock } = this.#parts
    for (let left = STORE_ATTEMPTS - 1; ; left--) {
      try {
        return await store.renew(stored, stored.version, tokens, clock.wall())
      } catch (error) {
        if (left === 0) throw error
        await pause(MAX_POLL_MS, clock)
      }
    }
  }

  async #revoke(provider: ConnectionProvider, tokens: TokenSet): Promise<boolean> {
    try {
      return await provider.revoke(tokens)
    } catch (error) {
      this.#warn(provider.name, error, 'The tokens of a connection could not be revoked at the provider')
      return false
    }
  }

  #seal(key: ConnectionKey, tokens: TokenSet, requested = ''): Tokens {
    const { access_token, refresh_token, expires_in, scope = requested } = tokens
    const text = JSON.stringify({ access_token, ...(refresh_token !== undefined && { refresh_token }) })
    const expires_at = expires_in === undefined ? null : this.#parts.clock.wall() + expires_in * 1_000
    return { tokens: this.#parts.seal.seal(text, placeOf('connection', key)), scopes: scope, expires_at }
  }

  #open(stored: StoredConnection): TokenSet {
    return JSON.parse(this.#parts.seal.open(stored.tokens, placeOf('connection', stored)))
  }

  #view(provider: string, user: string, stored: StoredConnection | undefined): ConnectionView {
    const { connections = {} } = this.#parts.config()
    const title = (Object.hasOwn(connections, provider) ? connections[provider]?.title : undefined) ?? provider
    return {
      ...{ provider, title, user, scopes: stored?.scopes.split(' ').filter((scope) => scope !== '') ?? [] },
      status: stored === undefined ? 'none' : stored.broken ? 'broken' : 'connected',
      connected_at: stored === undefined ? null : new Date(stored.created_at).toISOString(),
      renewed_at: stored === undefined ? null : new Date(stored.updated_at).toISOString(),
    }
  }

  /** Logs a code only: errors of the library contain the answer, which may contain tokens. */
  #warn(provider: string, error: unknown, message: string): void {
    const problem = error instanceof TokensRefused ? error.error : (error as Error).name
    writeLog(this.#parts.log, 'warn', { provider, problem }, message)
  }
}

/** The identity whose account a call uses. */
function accountUser({ tenant = LOCAL_TENANT, caller = LOCAL_CALLER.id, user }: AccountUser): string {
  return user === undefined ? caller : userId(tenant, user)
}

const keyOf = (provider: string, user: AccountUser): ConnectionKey => ({
  tenant: user.tenant ?? LOCAL_TENANT,
  user: accountUser(user),
  provider,
})

/** Binds an encrypted text to its row: it can't be moved to another user. */
const placeOf = (kind: string, { tenant, user, provider }: ConnectionKey): string =>
  JSON.stringify([kind, tenant, user, provider])

const newLink = (name: string) => ({ name, id: randomBytes(16).toString('base64url') })

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
