import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { ConnectFailure } from '../client/connect-failure.ts'
import { openClient } from '../client/open-client.ts'
import type { McpServerSettings } from '../client/server-settings.ts'
import { AuthorizationFailure } from './authorization-failure.ts'
import { finishAuthorization } from './finish-authorization.ts'
import { RedirectListener } from './redirect-listener.ts'
import { ServerAuthorization } from './server-authorization.ts'
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
  const listener = await RedirectListener.open()
  try {
    const failure = await connect(settings, url, parts, listener.url)
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

async function connect(
  settings: McpServerSettings,
  url: string,
  { file, log, clock, signal }: LogInParts,
  redirectUrl?: string,
): Promise<ConnectFailure | undefined> {
  const { name } = settings
  const authProvider = new ServerAuthorization({ name, url, file, ...(redirectUrl !== undefined && { redirectUrl }) })
  try {
    const opened = await openClient(settings, { log, clock, signal, era: undefined, onChanged: () => {}, authProvider })
    await opened.close()
    return undefined
  } catch (error) {
    if (error instanceof ConnectFailure) return error
    throw error
  }
}
