import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Loop } from '../batches.ts'
import type { Era } from './mcp-server.ts'

export interface Order {
  readonly url: string
  readonly era: Era
  readonly calls: number
}

const PROGRAM = fileURLToPath(new URL('./http-load.ts', import.meta.url))

/** Clients in a process of their own, so that what this process uses is what its servers cost. */
export class HttpLoadGenerator {
  readonly #child: ChildProcess
  readonly #ended = new AbortController()

  constructor() {
    this.#child = fork(PROGRAM, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] })
    this.#child.once('exit', () => this.#ended.abort(new Error('The load generator has ended.')))
  }

  /** Calls the server at this address so many times. */
  against(url: string, era: Era): Loop {
    return async (calls) => {
      const done = once(this.#child, 'message', { signal: this.#ended.signal })
      this.#child.send({ url, era, calls } satisfies Order)
      await done
    }
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
