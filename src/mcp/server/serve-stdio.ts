import { Console } from 'node:console'
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio as serveOver } from '@modelcontextprotocol/server/stdio'
import type { CallContext } from '../../core/call-context.ts'
import { writeLog } from '../../core/log.ts'
import { followChanges, openConnection } from './open-connection.ts'
import { callerOf, type ToolServer } from './tool-server.ts'

export interface StdioOptions {
  readonly context?: CallContext
  readonly input?: Readable
  readonly output?: Writable
}

export interface StdioService {
  /** Resolves when the client disconnects or the service is closed. */
  readonly closed: Promise<void>
  /** Ends the service and restores `process.stdout`. */
  close(): Promise<void>
}

/**
 * Serves one client over standard input and output. Only messages are written to the output: handlers print to standard
 * error. The end of the input ends the service and cancels running calls.
 */
export function serveStdio(server: ToolServer, options: StdioOptions = {}): StdioService {
  const { context = {}, input = process.stdin, output = process.stdout } = options
  const restore = redirectPrints()
  // Writing to a client that has gone is an error, which would end the process without a listener.
  const ignore = (): void => {}
  output.on('error', ignore)
  const transport = new StdioServerTransport(input, output)
  const ended = Promise.withResolvers<void>()
  const service = serveOver(
    ({ era }) => {
      const connection = openConnection(server, callerOf(context))
      // Older clients must not get notifications before they are initialized.
      if (era === 'modern') followChanges(server, connection)
      else connection.server.oninitialized = () => followChanges(server, connection)
      return connection
    },
    {
      transport,
      onerror: (error) => writeLog(server.log, 'warn', { err: error }, 'Error on the standard input of the MCP server'),
    },
  )
  const before = transport.onclose
  transport.onclose = () => {
    before?.()
    ended.resolve()
  }
  return {
    closed: ended.promise,
    async close() {
      await service.close()
      restore()
      output.off('error', ignore)
    },
  }
}

/**
 * Makes `process.stdout` and `console` write to standard error, so that handlers can't print between messages. Returns a
 * function that undoes it.
 */
function redirectPrints(): () => void {
  const before = { stdout: Object.getOwnPropertyDescriptor(process, 'stdout') ?? {}, console }
  Object.defineProperty(process, 'stdout', { configurable: true, enumerable: true, get: () => process.stderr })
  globalThis.console = new Console(process.stderr)
  return () => {
    Object.defineProperty(process, 'stdout', before.stdout)
    globalThis.console = before.console
  }
}
