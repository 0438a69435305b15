import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Connection } from './mcp-client.ts'

interface Message {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** A server in a process group of its own, which is ended whole. */
export class StdioConnection implements Connection {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #id = 0
  lost = false

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
    const { stdin, stdout } = this.#child
    stdin?.on('error', () => this.#lose())
    this.#child.on('error', () => this.#lose())
    this.#child.on('exit', () => this.#lose())
    if (stdout !== null) createInterface({ input: stdout }).on('line', (line) => this.#hear(line))
  }

  request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    if (this.lost) return Promise.reject(new Error('the connection is lost'))
    const id = ++this.#id
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    signal?.addEventListener('abort', () => {
      if (!this.#waiting.delete(id)) return
      this.#send({ method: 'notifications/cancelled', params: { requestId: id } })
      waiting.reject(signal.reason)
    })
    this.#send({ id, method, params })
    return waiting.promise
  }

  close(): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // All of it has ended already.
    }
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #hear(line: string): void {
    const message = read(line)
    if (message?.id === undefined) return
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.error !== undefined) waiting?.reject(new Error(message.error.message))
    else waiting?.resolve(message.result)
  }

  #lose(): void {
    this.lost = true
    for (const { reject } of this.#waiting.values()) reject(new Error('the server has ended'))
    this.#waiting.clear()
    this.close()
  }
}

/** A message, or nothing where the line is none. */
function read(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
