import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { ConnectFailure } from '../client/connect-failure.ts'
import { connectFailure } from '../client/connect-reason.ts'
import { listAll } from '../client/list-all.ts'
import { openClient } from '../client/open-client.ts'
import type { McpServerSettings } from '../client/server-settings.ts'
import { AuthorizationFailure } from './authorization-failure.ts'
import { finishAuthorization } from './finish-authorization.ts'
import { REGISTERED_PORT } from './oauth-provider.ts'
import { RedirectListener } from './redirect-listener.ts'
import { authorizationAt } from './server-authorization.ts'
import type { TokenFile } from './token-file.ts'

/** How long somebody has for opening the address and saying yes. */
const LOG_IN_MS = 5 * 60_000

export interface LogInParts {
  readonly file: TokenFile
  readonly log: Log
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Connects to a server over HTTP; where it wants authorization, `show` gets the address to open, and the answer is waited
 * for. Says whether that was needed. Rejects with a `ConnectFailure` or an `AuthorizationFailure`.
 */
export async function logIn(
  settings: McpServerSettings,
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
    const waiting = listener.answer({ state, ms: LOG_IN_MS, clock, signal })
    show(address)
    const answer = await waiting
    if (answer === undefined) throw new AuthorizationFailure(name, 'nobody has opened the address in 5 minutes')
    await finishAuthorization({ name, url, file }, answer)
  } finally {
    await listener.close()
  }
  await checkLogIn(settings, url, parts)
  return 'done'
}

/** Connects with what is kept; rejects with a `ConnectFailure`. */
export async function checkLogIn(settings: McpServerSettings, url: string, parts: LogInParts): Promise<void> {
  const failure = await connect(settings, url, parts)
  if (failure !== undefined) throw failure
}

/** Connects, and lists the tools: some servers let everybody in and want authorization then. */
async function connect(
  settings: McpServerSettings,
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

/** A call has been refused for want of a wider scope: what it was told to open is begun anew, with somebody listening. */
async function widen(
  settings: McpServerSettings,
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

/** A client that was registered by somebody has a redirect address that was registered with it. */
function openListener({ name, reach }: McpServerSettings): Promise<RedirectListener> {
  const isRegistered = reach.type !== 'stdio' && reach.oauth !== undefined
  return RedirectListener.open(isRegistered ? REGISTERED_PORT : 0).catch(() => {
    throw new AuthorizationFailure(name, `port ${REGISTERED_PORT} of this machine, where its answer goes, is in use`)
  })
}
