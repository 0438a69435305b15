import { systemClock } from '../../core/clock.ts'
import { ConnectFailure } from '../../mcp/client/connect-failure.ts'
import { AuthorizationFailure } from '../../mcp/oauth/authorization-failure.ts'
import { finishAuthorization } from '../../mcp/oauth/finish-authorization.ts'
import { checkLogIn, type LogInParts, logIn } from '../../mcp/oauth/log-in.ts'
import type { GlobalOptions } from '../global-options.ts'
import { type HttpServer, httpServer } from '../http-server.ts'
import { Interrupt } from '../interrupt.ts'
import { openLog } from '../open.ts'
import { printable } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

/**
 * `toolyard mcp login`: gets tokens for a server, with somebody who opens an address. Without a terminal nobody is waited
 * for: the address is said, and `answer` is where the browser was sent in the end.
 */
export async function mcpLogin(
  terminal: Terminal,
  asked: string,
  answer: string | undefined,
  options: GlobalOptions,
): Promise<number> {
  const server = await httpServer(terminal, asked, options)
  const { name } = server.settings
  const log = openLog(terminal, options)
  const interrupt = new Interrupt()
  try {
    const parts = { file: server.file, log, clock: systemClock, signal: interrupt.signal }
    const needed = await authorize(terminal, server, answer, parts)
    if (terminal.json) terminal.document({ server: name, success: true })
    else terminal.result(needed ? `Logged in to ${name}.` : `${name} can be used already.`)
    return 0
  } catch (error) {
    if (interrupt.exitCode !== undefined) return interrupt.exitCode
    const failure = error instanceof ConnectFailure && error.cause instanceof AuthorizationFailure ? error.cause : error
    if (!(failure instanceof AuthorizationFailure)) throw error
    tell(terminal, name, failure)
    return 1
  } finally {
    interrupt.stop()
  }
}

async function authorize(
  terminal: Terminal,
  { settings, url, file }: HttpServer,
  answer: string | undefined,
  parts: LogInParts,
): Promise<boolean> {
  if (answer !== undefined) {
    if (!URL.canParse(answer)) throw new UsageError('The answer is the whole address that the browser ended at.')
    await finishAuthorization({ name: settings.name, url, file }, new URL(answer).searchParams)
    await checkLogIn(settings, url, parts)
    return true
  }
  if (terminal.watched && !terminal.json) {
    const show = (address: string) => terminal.note(`Open this address, and say yes there:\n\n${address}\n`)
    return (await logIn(settings, url, parts, show)) === 'done'
  }
  await checkLogIn(settings, url, parts)
  return false
}

function tell(terminal: Terminal, server: string, { message, address }: AuthorizationFailure): void {
  if (terminal.json) terminal.document({ success: false, error: message, address })
  else if (address === undefined) terminal.note(terminal.styleNote('red', printable(message)))
  else {
    terminal.note(`MCP server '${server}' wants authorization, and there is no terminal to wait at. Open this address:`)
    terminal.note(`\n${address}\n`)
    terminal.note(`The browser ends at an address that it cannot show: toolyard mcp login ${server} '<that address>'`)
  }
}
