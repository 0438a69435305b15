import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { ToolExecutionError } from '../../../src/core/tool-result.ts'
import type { Storage } from '../../../src/storage/sql/engine.ts'

/** How the contract opens a store. */
export interface OpenOptions {
  /** Names the store: the first time a new one, then the same again. */
  readonly store: string
  readonly instance: string
  /** As in the options of a store; 10 s where it is missing. */
  readonly aliveMs?: number
  readonly auditDays?: number
  readonly objectiveDays?: number
}

/** What the contract needs to know of a store. */
export interface StorageUnderTest {
  open(options: OpenOptions): Promise<Storage>
  /** Whether several machines share it, so that it has `leases` and `cache`. */
  readonly shared: boolean
}

/** The store of one clause, or the part of it that the clause is about. */
export class ContractStore<Opened extends Pick<Storage, 'close'> = Storage> {
  readonly #name = randomUUID()
  readonly #open: (options: OpenOptions) => Promise<Opened>
  readonly #opened: Opened[] = []

  constructor(open: (options: OpenOptions) => Promise<Opened>) {
    this.#open = open
  }

  /** Each call is another instance on the same store. */
  async open(options: Partial<Omit<OpenOptions, 'store'>> = {}): Promise<Opened> {
    const storage = await this.#open({ store: this.#name, instance: `instance-${this.#opened.length + 1}`, ...options })
    this.#opened.push(storage)
    return storage
  }

  async openTwo(): Promise<[Opened, Opened]> {
    return [await this.open(), await this.open()]
  }

  /** An instance that lives and does not show it, as one that was killed, and one that soon takes it for dead. */
  async openSilentAndWatchful(): Promise<[Opened, Opened]> {
    return [await this.open({ aliveMs: 3_600_000 }), await this.open({ aliveMs: 300 })]
  }

  async close(): Promise<void> {
    for (const storage of this.#opened) await storage.close()
  }
}

/** What one clause says, and how it is found out. */
export type Clauses<Opened extends Pick<Storage, 'close'> = Storage> = Readonly<
  Record<string, (store: ContractStore<Opened>) => Promise<void>>
>

/** The part of a store that the contract of knowledge needs. */
export type KnowledgeUnderTest = Pick<Storage, 'knowledge' | 'close'>

export type OpenKnowledge = (options: OpenOptions) => Promise<KnowledgeUnderTest>

export type KnowledgeClauses = Clauses<KnowledgeUnderTest>

/** Waits until it is so. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000
  while (!(await condition())) {
    assert.ok(Date.now() < end, `${what} did not come about`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** It is refused as a mistake of who asks. */
export async function refuses(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ToolExecutionError, `rejected with ${error}`)
    assert.equal(error.code, 'INVALID_PARAMETERS')
    return true
  })
}

/** Asserts that a tenant would exceed the quota of this name. */
export async function exceeds(quota: string, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof ToolExecutionError, `rejected with ${error}`)
    assert.equal(error.code, 'RATE_LIMITED')
    assert.match(error.message, new RegExp(`has reached its quota '${quota}': it uses \\d+ of \\d+`))
    return true
  })
}

/** Characters that get lost where somebody counts in bytes, cuts or normalises. */
export const UNICODE = 'Ünïcode 日本語 👩‍🚀 \u0301e \u202E "quoted" \\ \'; --\n\t'
export const NUL = 'a\0b'
