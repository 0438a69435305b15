import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { AuthorizationFailure, type ConnectFailure } from '../client/failures.ts'
import { listAll } from '../client/listed-tool.ts'
import { connectFailure, openClient } from '../client/open-client.ts'
import type { HttpServerSettings } from '../client/server-settings.ts'
import { REGISTERED_PORT } from './oauth-provider.ts'
import { authorizationAt, finishAuthorization } from './server-authorization.ts'
import type { TokenFile } from './token-file.ts'

const PATH = '/callback'
const HEADERS = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' }

interface Wait {
  /** Answers with another state are rejected. */
  readonly state: string
  readonly ms: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Listens on the loopback address for the browser's redirect from an authorization server. */
class RedirectListener {
  readonly url: string
  readonly #server: Server
  #offer: (answer: URLSearchParams) => boolean = () => false

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`
    server.on('request', ({ method, url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, this.url)
      const taken = method === 'GET' && pathname === PATH && this.#offer(searchParams)
      const text = taken ? 'Toolyard has the answer. You can close this page.' : 'No login is waiting for this answer.'
      response.writeHead(taken ? 200 : 400, HEADERS).end(`${text}\n`)
    })
  }

  static async open(port = 0): Promise<RedirectListener> {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    return new RedirectListener(server)
  }

  /** The parameters of the redirect; undefined after the timeout. */
  answer({ state, ms, clock, signal }: Wait): Promise<URLSearchParams | undefined> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel()
        signal.removeEventListener('abort', abort)
        this.#offer = () => false
      }
      const abort = (): void => {
        end()
        reject(signal.reason)
      }
      const cancel = clock.after(ms, () => {
        end()
        resolve(undefined)
      })
      this.#offer = (answer) => {
        if (answer.get('state') !== state) return false
        end()
        resolve(answer)
        return true
      }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort)
    })
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeIdleConnections()
    await closed
  }
}

const LOG_IN_TIMEOUT_MS = 5 * 60_000

export interface LogInParts {
  readonly file: TokenFile
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Connects to a server over HTTP. If it requires authorization, passes the address to open to `show` and waits for the
 * answer. Rejects with a `ConnectFailure` or an `AuthorizationFailure`.
 */
export async function logIn(
  settings: HttpServerSettings,
  url: string,
  parts: LogInParts,
  show: (address: string) => void,
): Promise<'done' | 'not needed'> {
  const { file, clock, signal } = parts
  const { name } = settings
  const listener = await openListener(settings)
  try {
    const failure =
      (await connect(settings, url, parts, listener.url)) ?? (await widen(settings, url, parts, listener.url))
    if (failure === undefined) return 'not needed'
    const address = failure.cause instanceof AuthorizationFailure ? failure.cause.address : undefined
    if (address === undefined) throw failure
    const state = new URL(address).searchParams.get('state') ?? ''
    const waiting = listener.answer({ state, ms: LOG_IN_TIMEOUT_MS, clock, signal })
    show(address)
    const answer = await waiting
    if (answer === undefined) throw new AuthorizationFailure(name, 'the address was not opened within 5 minutes')
    await finishAuthorization({ name, url, file, fetch: settings.reach.fetch }, answer)
  } finally {
    await listener.close()
  }
  await checkLogIn(settings, url, parts)
  return 'done'
}

/** Connects with the stored tokens; rejects with a `ConnectFailure`. */
export async function checkLogIn(settings: HttpServerSettings, url: string, parts: LogInParts): Promise<void> {
  const failure = await connect(settings, url, parts)
  if (failure !== undefined) throw failure
}

/** Connects and lists the tools: some servers require authorization only for requests. */
async function connect(
  settings: HttpServerSettings,
  url: string,
  { file, log, clock, signal }: LogInParts,
  redirectUrl?: string,
): Promise<ConnectFailure | undefined> {
  const authProvider = authorizationAt(url, settings, file, redirectUrl)
  try {
    const parts = { log, clock, signal, era: undefined, onChanged: () => {}, authProvider }
    const { client, close } = await openClient(settings, parts)
    try {
      if (client.getServerCapabilities()?.tools !== undefined) await listAll(client, 'tools/list', 'tools', signal)
    } finally {
      await close()
    }
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    return connectFailure(settings, error, '')
  }
}

/** Restarts a pending authorization for a wider scope, now with a listener. */
async function widen(
  settings: HttpServerSettings,
  url: string,
  { file }: LogInParts,
  redirectUrl: string,
): Promise<ConnectFailure | undefined> {
  const { wider_scope, discovery } = (await file.read(url))?.pending ?? {}
  if (wider_scope === undefined) return undefined
  const metadata = discovery?.resourceMetadataUrl
  return authorizationAt(url, settings, file, redirectUrl)
    .authorize(wider_scope, metadata === undefined ? undefined : new URL(metadata))
    .then(
      () => undefined,
      (error: unknown) => connectFailure(settings, error, ''),
    )
}

/** A registered client has a fixed redirect address. */
function openListener({ name, reach }: HttpServerSettings): Promise<RedirectListener> {
  const isRegistered = reach.oauth !== undefined
  return RedirectListener.open(isRegistered ? REGISTERED_PORT : 0).catch(() => {
    throw new AuthorizationFailure(name, `port ${REGISTERED_PORT}, which its redirect address needs, is in use`)
  })
}
