import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadOrder, LoadResult } from './load-order.ts'

const PROGRAM = new URL('./load.ts', import.meta.url)

/** Clients in a process of their own, so that what a server's process uses is what answering costs. */
export class LoadGenerator {
  readonly #child: ChildProcess
  readonly #ended = new AbortController()

  constructor() {
    this.#child = fork(PROGRAM, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] })
    this.#child.once('exit', () => this.#ended.abort(new Error('The load generator has ended.')))
  }

  async load(order: LoadOrder): Promise<LoadResult> {
    const done = once(this.#child, 'message', { signal: this.#ended.signal })
    this.#child.send(order)
    const [result] = (await done) as [LoadResult]
    return result
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
