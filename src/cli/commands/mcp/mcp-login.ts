import { readMcpServers } from '../../../config/mcp-settings.ts'
import { systemClock } from '../../../core/clock.ts'
import { dataFolder } from '../../../core/environment.ts'
import { AuthorizationFailure, ConnectFailure } from '../../../mcp/client/failures.ts'
import type { HttpServerSettings } from '../../../mcp/client/server-settings.ts'
import { checkLogIn, type LogInParts, logIn } from '../../../mcp/oauth/log-in.ts'
import { finishAuthorization } from '../../../mcp/oauth/server-authorization.ts'
import { type TokenFile, tokenFile } from '../../../mcp/oauth/token-file.ts'
import { configFile, findServer, keepSecrets, openLog, readConfig } from '../../common/open.ts'
import { type GlobalOptions, Interrupt, printable, type Terminal, UsageError } from '../../common/terminal.ts'

/**
 * `toolyard mcp login`: gets tokens for a server from the user, who opens a URL. Without a terminal the command prints the
 * URL and exits; `answer` is then the URL that the browser was redirected to.
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
    else terminal.result(needed ? `Logged in to ${name}.` : `Already logged in to ${name}.`)
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
    if (!URL.canParse(answer))
      throw new UsageError('The answer must be the full URL that the browser was redirected to.')
    await finishAuthorization(
      { name: settings.name, url, file, fetch: settings.reach.fetch },
      new URL(answer).searchParams,
    )
    await checkLogIn(settings, url, parts)
    return true
  }
  if (terminal.watched && !terminal.json) {
    const show = (address: string) => terminal.note(`Open this URL and confirm:\n\n${address}\n`)
    return (await logIn(settings, url, parts, show)) === 'done'
  }
  await checkLogIn(settings, url, parts)
  return false
}

function tell(terminal: Terminal, server: string, { message, address }: AuthorizationFailure): void {
  if (terminal.json) terminal.document({ success: false, error: message, address })
  else if (address === undefined) terminal.note(terminal.styleNote('red', printable(message)))
  else {
    terminal.note(`MCP server '${server}' requires authorization. Open this URL:`)
    terminal.note(`\n${address}\n`)
    terminal.note(
      `The browser is redirected to a page that does not load. Copy its URL: toolyard mcp login ${server} '<URL>'`,
    )
  }
}

/** `toolyard mcp logout`: deletes the tokens for a server. */
export async function mcpLogout(terminal: Terminal, asked: string, options: GlobalOptions): Promise<number> {
  const { settings, url, file } = await httpServer(terminal, asked, options)
  const { name } = settings
  const known = (await file.read(url))?.tokens !== undefined
  await file.update(url, () => undefined)
  if (terminal.json) terminal.document({ server: name, success: true, forgotten: known })
  else terminal.result(known ? `Logged out of ${name}.` : `There are no tokens for ${name}.`)
  return 0
}

/** An MCP server over HTTP, and where its tokens are stored. */
interface HttpServer {
  readonly settings: HttpServerSettings
  readonly url: string
  readonly file: TokenFile
}

/** Finds the server in the configuration, without connecting to it. */
async function httpServer(terminal: Terminal, asked: string, options: GlobalOptions): Promise<HttpServer> {
  const config = await readConfig(configFile(terminal, options.config))
  await keepSecrets(terminal, options, config)
  const { name, place } = findServer(terminal, config, asked)
  const settings = readMcpServers(config, terminal.env, terminal.cwd).servers.find((one) => one.name === name)
  if (settings === undefined || settings.reach.type === 'stdio') {
    throw new UsageError(`MCP server '${name}' is a local program: you can only log in to servers with a "url".`)
  }
  const { url, headers } = settings.reach
  if (Object.keys(headers).some((header) => header.toLowerCase() === 'authorization')) {
    throw new UsageError(
      `MCP server '${name}' already has an Authorization header: remove it from ${place}.headers first.`,
    )
  }
  return {
    settings: { ...settings, reach: settings.reach },
    url: new URL(url).href,
    file: tokenFile(dataFolder(terminal.env)),
  }
}
