import { hash, randomUUID } from 'node:crypto'
import { canonicalText } from './json/canonical-text.ts'
import type { HashedTool } from './tool.ts'
import { errorTraits, type ToolFailure, type ToolResult } from './tool-result.ts'

type Make<Options> = (name: string, params: unknown, options?: Options) => Promise<ToolResult>

/** A call of a step that has ended. */
interface DoneCall {
  readonly name: string
  readonly params: unknown
  readonly result: ToolResult
}

/** Steps by their hashes. */
interface StoredProgress {
  readonly approval?: string
  readonly begun?: boolean
  readonly note?: unknown
  readonly done: Readonly<Record<string, readonly [call: string, result: ToolResult]>>
  readonly inner: Readonly<Record<string, StoredProgress>>
}

interface ApprovedRoot {
  readonly approval: { readonly id: string; readonly run_id: string | null }
  /** The hash of the definition of the outermost tool, and of all that it may call. */
  readonly hash: string
}

/** The outermost call of a tool that calls others. */
interface ProgressRoot {
  /** Identifies the call when it continues: its idempotency key, or a random one. */
  readonly key: string
  /** The hash of the tool and its parameters, and what separates callers: only the same call continues. */
  readonly hash: string
  /** Whether the call continues after an approval. */
  readonly resumed: boolean
  /** Its caller can't name an approval: it repeats the call. */
  readonly repeats: boolean
  /** Set when a call inside has asked for approval. */
  asked: boolean
  /** The definition of the tool, as it is now. */
  hashed(): Promise<HashedTool>
  /** Set if the call, or one inside it, runs because a person approved it. */
  approved?: ApprovedRoot | undefined
}

/**
 * What a tool that calls others has done. If one of its calls needs approval, the outermost call stores it, with that of all
 * calls inside, and the repeated call continues from there.
 */
export class Progress {
  readonly root: ProgressRoot
  /** What a kind notes for its continuation, as JSON. */
  note: unknown
  /** The approval of the call itself. */
  approval: string | undefined
  /** Set when the tool runs. */
  begun: boolean
  readonly #stored: StoredProgress | undefined
  readonly #done = new Map<string, DoneCall>()
  readonly #inner = new Map<string, Progress>()

  constructor(root: ProgressRoot, stored?: StoredProgress) {
    this.root = root
    this.#stored = stored
    this.note = stored?.note
    this.approval = stored?.approval
    this.begun = this.continues
  }

  /** Whether the tool ran before the call waited: its price per call is paid. */
  get continues(): boolean {
    return this.#stored?.begun === true
  }

  static parse(text: string, root: ProgressRoot): Progress {
    return new Progress(root, JSON.parse(text))
  }

  /** That of a call inside. A call without a step can't continue: nothing identifies it. */
  inner(step: string | undefined): Progress {
    if (step === undefined) return new Progress(this.root)
    const known = this.#inner.get(step)
    if (known !== undefined) return known
    const inner = new Progress(this.root, this.#stored?.inner[hash('sha256', step)])
    this.#inner.set(step, inner)
    return inner
  }

  /** Makes calls. Steps that ended before the call waited are not run again. */
  once<Options extends { readonly step?: string }>(make: Make<Options>): Make<Options> {
    return async (name, params, options) => {
      const { step } = options ?? {}
      if (step === undefined) return make(name, params, options)
      const known = this.root.resumed ? this.#resultOf(step, name, params) : undefined
      if (known !== undefined) return known
      const result = await make(name, params, options)
      this.#ended(step, name, params, result)
      return result
    }
  }

  #resultOf(step: string, name: string, params: unknown): ToolResult | undefined {
    const [call, result] = this.#stored?.done[hash('sha256', step)] ?? []
    return call !== undefined && call === fingerprint(name, params) ? result : undefined
  }

  /** A call that never ran is made again. */
  #ended(step: string, name: string, params: unknown, result: ToolResult): void {
    if (!result.success && isUnbegun(result)) return
    this.#done.set(step, { name, params, result })
    this.#inner.delete(step)
  }

  toJSON(): StoredProgress {
    const done = { ...this.#stored?.done }
    for (const [step, { name, params, result }] of this.#done) {
      done[hash('sha256', step)] = [fingerprint(name, params), result]
    }
    const inner = { ...this.#stored?.inner }
    for (const [step, progress] of this.#inner) inner[hash('sha256', step)] = progress.toJSON()
    const { note, approval, begun } = this
    const own = { ...(note !== undefined && { note }), ...(approval !== undefined && { approval }) }
    return { done, inner, ...own, ...(begun && { begun }) }
  }
}

const isUnbegun = ({ error_code: code, outcome }: ToolFailure): boolean =>
  errorTraits(code).refused !== undefined || (code === 'CANCELLED' && outcome === undefined)

const fingerprint = (name: string, params: unknown): string => hash('sha256', canonicalText([name, params ?? null]))

/** Computed when a call inside asks for approval: most never do. */
export class NewRoot implements ProgressRoot {
  readonly resumed = false
  readonly repeats: boolean
  asked = false
  approved: ApprovedRoot | undefined
  readonly #keyOf: () => string | undefined
  readonly #hashOf: (key: string) => string
  readonly hashed: () => Promise<HashedTool>
  #key: string | undefined

  constructor(
    repeats: boolean,
    keyOf: () => string | undefined,
    hashOf: (key: string) => string,
    hashed: () => Promise<HashedTool>,
  ) {
    this.repeats = repeats
    this.#keyOf = keyOf
    this.#hashOf = hashOf
    this.hashed = hashed
  }

  get key(): string {
    this.#key ??= this.#keyOf() ?? randomUUID()
    return this.#key
  }

  get hash(): string {
    return this.#hashOf(this.key)
  }
}
