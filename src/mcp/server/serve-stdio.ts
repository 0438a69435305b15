import { type Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio as serveOver } from '@modelcontextprotocol/server/stdio'
import type { CallContext } from '../../core/call-context.ts'
import { writeLog } from '../../core/log.ts'
import { followChanges, openConnection } from './open-connection.ts'
import { callerOf, type ToolServer } from './tool-server.ts'

export interface StdioOptions {
  /** Who the one client is. */
  readonly context?: CallContext
  readonly input?: Readable
  readonly output?: Writable
}

/** A server on standard input and output. */
export interface StdioService {
  /** Resolves when the client disconnects or the service is closed. */
  readonly closed: Promise<void>
  /** Ends the service and gives the output back; until then, even what a late handler prints stays off it. */
  close(): Promise<void>
}

/**
 * Serves one client, the process that started ours. The output holds nothing but messages: what handlers print goes to
 * standard error. Ends with the input, and cancels what is running then.
 */
export function serveStdio(server: ToolServer, options: StdioOptions = {}): StdioService {
  const { context = {}, input = process.stdin, output = process.stdout } = options
  const taken = takeOverStdout(output, process.stderr)
  const transport = new StdioServerTransport(input, taken.output)
  const ended = Promise.withResolvers<void>()
  const service = serveOver(
    ({ era }) => {
      const connection = openConnection(server, callerOf(context))
      // An older client must not be told anything before it has said that it is ready.
      if (era === 'modern') followChanges(server, connection)
      else connection.server.oninitialized = () => followChanges(server, connection)
      return connection
    },
    {
      transport,
      onerror: (error) =>
        writeLog(server.log, 'warn', { err: error }, 'Trouble on the standard input of the MCP server'),
    },
  )
  const heard = transport.onclose
  transport.onclose = () => {
    heard?.()
    ended.resolve()
  }
  return {
    closed: ended.promise,
    async close() {
      await service.close()
      taken.release()
    },
  }
}

/** A standard output that belongs to a protocol, and the way to give it back. */
interface TakenOutput {
  readonly output: Writable
  release(): void
}

/**
 * Keeps a stream for what is written to `output`: all else that is printed on it (`console.log`, `process.stdout.write`)
 * goes to `aside`.
 */
export function takeOverStdout(stdout: Writable, aside: Writable): TakenOutput {
  const write = stdout.write
  const output = new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => void write.call(stdout, chunk, encoding, done),
  })
  // A client that has gone away makes this an error of the stream, too: without a listener it would end the process.
  const ignore = (): void => {}
  stdout.on('error', ignore)
  stdout.write = aside.write.bind(aside) as typeof stdout.write
  return {
    output,
    release: () => {
      stdout.write = write
      stdout.off('error', ignore)
    },
  }
}
