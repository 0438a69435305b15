import { Console } from 'node:console'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio as serveOver } from '@modelcontextprotocol/server/stdio'
import type { CallContext } from '../../core/call-context.ts'
import { writeLog } from '../../core/log.ts'
import { keepArguments } from './kept-arguments.ts'
import { Subscriptions } from './library.ts'
import { followChanges, openConnection } from './open-connection.ts'
import type { Caller, ToolServer } from './tool-server.ts'

interface StdioOptions {
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
  const caller: Caller = {
    // The tools of a part change when servers connect.
    get context() {
      return server.contextOf(context)
    },
    logLevel: undefined,
  }
  let tell = (_uri: string): void => {}
  const followed = server.library && new Subscriptions(server.library.library, (uri) => tell(uri))
  const transport = tapped(new StdioServerTransport(input, output), (message) => {
    keepArguments(message)
    for (const uri of followedBy(message)) void followed?.add(uri, caller.context).catch(() => {})
  })
  const ended = Promise.withResolvers<void>()
  const service = serveOver(
    ({ era }) => {
      const connection = openConnection(server, caller)
      // Older clients must not get notifications before they are initialized.
      if (era === 'modern') {
        followChanges(server, connection)
        tell = (uri) => void connection.server.sendResourceUpdated({ uri }).catch(() => {})
      } else connection.server.oninitialized = () => followChanges(server, connection)
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
    followed?.close()
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

/** The SDK answers the request to follow resources itself, so this reads it on the way. */
function tapped(transport: Transport, read: (message: JSONRPCMessage) => void): Transport {
  const tap: Transport = {
    start() {
      transport.onmessage = (message, extra) => {
        read(message)
        tap.onmessage?.(message, extra)
      }
      transport.onclose = () => tap.onclose?.()
      transport.onerror = (error) => tap.onerror?.(error)
      return transport.start()
    },
    send: (message, options) => transport.send(message, options),
    close: () => transport.close(),
  }
  return tap
}

function followedBy(message: JSONRPCMessage): string[] {
  if (!('method' in message) || message.method !== 'subscriptions/listen') return []
  const { resourceSubscriptions } = Object(message.params?.notifications) as { resourceSubscriptions?: unknown }
  return Array.isArray(resourceSubscriptions) ? resourceSubscriptions.filter((uri) => typeof uri === 'string') : []
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
