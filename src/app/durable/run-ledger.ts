import { setImmediate as tick } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { OnceClaim, OnceKey, OnceResult, OnceState, OnceStore } from '../../core/once-store.ts'
import type { DurableRun, DurableRunStore, DurableStep } from '../../core/storage/durable-run-store.ts'
import type { ToolResult } from '../../core/tool-result.ts'

interface RunLedgerOptions {
  readonly store: DurableRunStore
  readonly once: OnceStore
  readonly clock: Clock
  readonly log: Log
}

interface Claimed extends PromiseWithResolvers<OnceState> {
  readonly claim: OnceClaim
}

/** The run goes on elsewhere, or was cancelled. */
export class LostRun extends Error {
  constructor() {
    super('The run was cancelled, or goes on elsewhere')
  }
}

/**
 * Stores the steps of a run together with the idempotency keys of its calls. What happens in one tick is one commit: an
 * answer with the keys that its calls claim, and results with those of their keys that ended last.
 */
export class RunLedger implements OnceStore {
  readonly #run: DurableRun
  readonly #options: RunLedgerOptions
  #answer: DurableStep | undefined = undefined
  #claimed: Claimed[] = []
  #results: OnceResult[] = []
  #scheduled = false
  /** The commit of the last answer. */
  #begun: Promise<void> = Promise.resolve()
  #closed: Promise<void> = Promise.resolve()

  constructor(run: DurableRun, options: RunLedgerOptions) {
    this.#run = run
    this.#options = options
  }

  /** Stores an answer when its calls have claimed their keys. */
  begin(answer: DurableStep): void {
    this.#answer = answer
    this.#schedule()
  }

  /** Rejects with LostRun if the run belongs to another server. */
  async append(step: DurableStep): Promise<void> {
    const { store, clock } = this.#options
    const steps = await this.steps(step)
    const results = this.#results.splice(0)
    try {
      if (!(await store.append(this.#run.id, this.#run.fence, steps, clock.wall(), results))) throw new LostRun()
    } catch (error) {
      // The next owner of the run may wait for them.
      this.#results.push(...results)
      await this.close()
      throw error
    }
  }

  /** The step, after an answer that is not stored yet because no call claimed a key. */
  async steps(step: DurableStep): Promise<readonly DurableStep[]> {
    await this.#begun
    const answer = this.#answer
    this.#answer = undefined
    return answer === undefined ? [step] : [answer, step]
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    if (this.#answer === undefined) {
      // Nothing is written for an answer that is not stored, or by a server that has lost the run.
      await this.#begun
      const { store, clock } = this.#options
      const [state] = (await store.begin(this.#run.id, this.#run.fence, undefined, clock.wall(), [claim])) ?? []
      if (state === undefined) throw new LostRun()
      return state
    }
    const claimed = { claim, ...Promise.withResolvers<OnceState>() }
    this.#claimed.push(claimed)
    return claimed.promise
  }

  /** When the answer is stored: a call without a result may ask for approval next. */
  async look(key: OnceKey): Promise<OnceState> {
    if (this.#answer !== undefined) await tick()
    await this.#begun
    return this.#options.once.look(key)
  }

  /** The result of a call that this server has begun, also if it has lost the run since: the next owner may wait for it. */
  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#results.push({ claim, result })
    this.#schedule()
  }

  release(claim: OnceClaim): Promise<void> {
    return this.#options.once.release(claim)
  }

  /** Stores results that no step was stored with. */
  close(): Promise<void> {
    this.#closed = this.#closed.then(() => this.#storeResults())
    return this.#closed
  }

  async #storeResults(): Promise<void> {
    const { once, log } = this.#options
    for (const { claim, result } of this.#results.splice(0)) {
      await once.settle(claim, result).catch((err) => {
        const fields = { err, tool: result.tool_name, run_id: this.#run.id }
        writeLog(log, 'error', fields, 'Could not store the result of a call with an idempotency key')
      })
    }
  }

  /** Calls claim their keys, and a run stores the results of its last calls, before the next tick. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#answer !== undefined) {
        this.#begun = this.#begin(this.#answer, this.#claimed.splice(0))
        this.#begun.catch(() => {})
        this.#answer = undefined
      }
      void this.close()
    })
  }

  async #begin(answer: DurableStep, claimed: readonly Claimed[]): Promise<void> {
    const { store, clock } = this.#options
    const claims = claimed.map(({ claim }) => claim)
    try {
      const states = await store.begin(this.#run.id, this.#run.fence, answer, clock.wall(), claims)
      if (states === undefined) throw new LostRun()
      for (const [index, { resolve }] of claimed.entries()) resolve(states[index] as OnceState)
    } catch (error) {
      for (const { reject } of claimed) reject(error)
      throw error
    }
  }
}
