import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MiniError, type MiniHost, type Worker } from '../base/port.ts'
import type { Packages } from './find-packages.ts'
import type { PassQuestion, PassReading, ReadToolsResult } from './read-tools.ts'
import { NEVER, type ParameterReading, type Question, type Reading, type ToolReader } from './tool-reader.ts'

/** Tokens per call of the process, which can't be stopped in between: less than a second. */
const CALL_TOKENS = 320
/** A question is limited to these tokens, about four seconds, and one pass more. */
const QUESTION_TOKENS = 2_000
/** Tools are compared with fewer, so that the likeliest can still be read. */
const COMPARED_TOKENS = 900
/** The process needs no more passes or texts for a call. */
const CALL_ITEMS = 16
/** How many questions of one tenant may wait or be read. */
const MAX_ASKED = 64
/** The size of all vectors of tools that are remembered. */
const MAX_REMEMBERED_BYTES = 32 * 1024 * 1024
/** An idle process ends: it holds 300 MB, and starts again in a second. */
const IDLE_MS = 600_000
/** Callers without a tenant share one. */
const NO_TENANT = ''

const MODULE = new URL(`./read-tools${extname(import.meta.filename)}`, import.meta.url).href
/** The weights that come with the package. */
export const WEIGHTS = join(import.meta.dirname, '..', '..', 'weights')

export interface ProcessReaderOptions {
  readonly packages: Packages
  readonly weights?: string
  readonly host: Pick<MiniHost, 'id' | 'log' | 'startWorker'>
  readonly idleMs?: number
}

/** Runs the model in a child process, which starts with the first question. Tenants take turns, call by call. */
export class ProcessReader {
  readonly #options: ProcessReaderOptions
  readonly #worker: Worker
  readonly #vectors = new TenantVectors(MAX_REMEMBERED_BYTES)
  /** How many questions of each tenant are asked. */
  readonly #asked = new Map<string, number>()
  #closed = false

  constructor(options: ProcessReaderOptions) {
    const { packages, weights = WEIGHTS, idleMs = IDLE_MS, host } = options
    const urls = [...packages.runtimes, packages.tokenizers]
    this.#options = options
    this.#worker = host.startWorker({
      name: host.id,
      module: MODULE,
      export: 'readTools',
      read: [weights, ...urls.map((url) => dirname(fileURLToPath(url)))],
      idleMs,
      queue: MAX_ASKED,
    })
  }

  /** The child process, if there is one. */
  get pid(): number | undefined {
    return this.#worker.pid
  }

  /** Answers one question with a reader of its own. It counts as waiting once it calls the process. */
  async ask<Answer>(
    tenant: string = NO_TENANT,
    answer: (reader: ToolReader) => Promise<Answer>,
  ): Promise<Awaited<Answer>> {
    let counted = false
    const reader = new QuestionReader(tenant, this.#vectors, this.#options.host.id, (params, signal) => {
      if (!counted) this.#count(tenant)
      counted = true
      return this.#call(params, tenant, signal)
    })
    try {
      return await answer(reader)
    } finally {
      const left = (this.#asked.get(tenant) ?? 0) - 1
      if (counted && left > 0) this.#asked.set(tenant, left)
      else if (counted) this.#asked.delete(tenant)
    }
  }

  /** Ends the process; waiting questions fail. */
  close(): Promise<void> {
    this.#closed = true
    return this.#worker.close()
  }

  #count(tenant: string): void {
    const { id } = this.#options.host
    const asked = this.#asked.get(tenant) ?? 0
    if (asked >= MAX_ASKED) {
      throw new MiniError(`${id} is busy: ${asked} questions of your tenant already wait. Ask again later.`, false, 503)
    }
    this.#asked.set(tenant, asked + 1)
  }

  async #call(params: object, tenant: string, signal = new AbortController().signal): Promise<ReadToolsResult> {
    const { packages, weights = WEIGHTS, host } = this.#options
    signal.throwIfAborted()
    if (this.#closed) throw this.#closedError()
    try {
      return (await this.#worker.run({ packages, weights, ...params }, tenant, signal)) as ReadToolsResult
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (this.#closed) throw this.#closedError()
      const detail = error instanceof Error ? error.message : String(error)
      if (this.#worker.ended(error)) {
        host.log.warn({ model: host.id, detail }, 'The process of the built-in model ended')
        throw new MiniError(`The process of ${host.id} ended before it answered. Ask again.`, true)
      }
      host.log.error({ model: host.id, detail }, 'The built-in model could not be used')
      throw new MiniError(`The model ${host.id} could not be used: its files are damaged. Install Toolyard again.`)
    }
  }

  #closedError(): MiniError {
    return new MiniError(`The model ${this.#options.host.id} is closed.`)
  }
}

type Call = (params: object, signal?: AbortSignal) => Promise<ReadToolsResult>

/** Reads for one question, call by call, until its tokens are used. */
class QuestionReader implements ToolReader {
  readonly #tenant: string
  readonly #vectors: TenantVectors
  readonly #id: string
  readonly #call: Call
  #spent = 0

  constructor(tenant: string, vectors: TenantVectors, id: string, call: Call) {
    this.#tenant = tenant
    this.#vectors = vectors
    this.#id = id
    this.#call = call
  }

  async read(questions: readonly Question[], signal?: AbortSignal): Promise<Reading[]> {
    this.#check()
    const found = questions.map((): PassReading[] => [])
    const take = async (asked: readonly { readonly at: number; readonly pass: number }[]): Promise<void> => {
      const passes = asked.map(({ at, pass }): PassQuestion => ({ ...(questions[at] as Question), pass }))
      const readings = await this.#run(passes, 'passes', 'readings', QUESTION_TOKENS, signal)
      for (const [index, reading] of readings.entries()) found[asked[index]?.at as number]?.push(reading)
    }
    await take(questions.map((_, at) => ({ at, pass: 0 })))
    const relevance = (at: number): number => found[at]?.[0]?.relevance ?? 0
    const rest = found.flatMap(([first], at) =>
      Array.from({ length: (first?.passes ?? 1) - 1 }, (_, index) => ({ at, pass: index + 1 })),
    )
    await take(rest.sort((one, other) => relevance(other.at) - relevance(one.at)))
    return questions.map(({ tool }, at) => wholeReading(tool, found[at] as PassReading[]))
  }

  embed(texts: readonly string[], signal?: AbortSignal): Promise<number[][]> {
    this.#check()
    return this.#run(texts, 'texts', 'embeddings', QUESTION_TOKENS, signal)
  }

  async embedTools(texts: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, ArrayLike<number>>> {
    const found = new Map<string, ArrayLike<number>>()
    for (const text of texts) {
      const vector = this.#vectors.get(this.#tenant, text)
      if (vector !== undefined) found.set(text, vector)
    }
    const unknown = texts.filter((text) => !found.has(text))
    const made = await this.#run(unknown, 'texts', 'embeddings', COMPARED_TOKENS, signal)
    for (const [at, vector] of made.entries()) {
      found.set(unknown[at] as string, vector)
      this.#vectors.set(this.#tenant, unknown[at] as string, Float32Array.from(vector))
    }
    return found
  }

  left(): number {
    return QUESTION_TOKENS - this.#spent
  }

  #check(): void {
    if (this.#spent < QUESTION_TOKENS) return
    throw new MiniError(`The request is too long for ${this.#id}. Ask for less at a time.`)
  }

  /** The results of the first items, until `limit` tokens of the question are spent. */
  async #run<Kind extends 'readings' | 'embeddings'>(
    items: readonly unknown[],
    as: 'passes' | 'texts',
    kind: Kind,
    limit: number,
    signal: AbortSignal | undefined,
  ): Promise<ReadToolsResult[Kind]> {
    const results: unknown[] = []
    while (results.length < items.length && this.#spent < limit) {
      const next = items.slice(results.length, results.length + CALL_ITEMS)
      const result = await this.#call({ [as]: next, most: Math.min(CALL_TOKENS, limit - this.#spent) }, signal)
      this.#spent += result.tokens
      results.push(...result[kind])
    }
    return results as ReadToolsResult[Kind]
  }
}

/** Puts the passes of a question together. A parameter of no pass was not mentioned. */
function wholeReading(tool: Question['tool'], passes: readonly PassReading[]): Reading {
  const [first] = passes
  const { from, to } = first ?? { from: [], to: [] }
  const never = from.map(() => NEVER)
  const parameters = tool.parameters.map(
    ({ options }): ParameterReading => ({
      span: { from, to, start: never, end: never, inside: never, absent: 0 },
      mentioned: NEVER,
      options: options.map(() => NEVER),
      none: 0,
    }),
  )
  for (const pass of passes) {
    for (const { index, ...one } of pass.parameters) parameters[index] = { ...one, span: { from, to, ...one.span } }
  }
  return { relevance: first?.relevance ?? 0, parameters }
}

/**
 * Remembers the vectors of the tools of each tenant. When it is full, it forgets those of the tenant that has the most,
 * the least recently used first, so that no tenant makes it forget those of another.
 */
export class TenantVectors {
  readonly #maxBytes: number
  readonly #tenants = new Map<string, { readonly vectors: Map<string, Float32Array>; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(tenant: string, text: string): Float32Array | undefined {
    const vectors = this.#tenants.get(tenant)?.vectors
    const vector = vectors?.get(text)
    if (vector !== undefined && vectors?.delete(text)) vectors.set(text, vector)
    return vector
  }

  set(tenant: string, text: string, vector: Float32Array): void {
    const own = this.#tenants.get(tenant) ?? { vectors: new Map(), bytes: 0 }
    this.#tenants.set(tenant, own)
    const replaced = own.vectors.get(text)
    this.#grow(own, sizeOf(text, vector) - (replaced === undefined ? 0 : sizeOf(text, replaced)))
    own.vectors.set(text, vector)
    while (this.#bytes > this.#maxBytes) this.#forget()
  }

  #forget(): void {
    const [tenant, most] = [...this.#tenants].reduce((one, other) => (other[1].bytes > one[1].bytes ? other : one))
    for (const [text, vector] of most.vectors) {
      most.vectors.delete(text)
      this.#grow(most, -sizeOf(text, vector))
      break
    }
    if (most.vectors.size === 0) this.#tenants.delete(tenant)
  }

  #grow(own: { bytes: number }, bytes: number): void {
    own.bytes += bytes
    this.#bytes += bytes
  }
}

/** With the text, and the entry of the map. */
const sizeOf = (text: string, { byteLength }: Float32Array): number => byteLength + 2 * text.length + 100
