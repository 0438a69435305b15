import type { CallRecord } from '../core/records/recorder.ts'

/** Unknown names are counted together: callers could otherwise fill the memory. */
const UNKNOWN_TOOLS = '(unknown tools)'

/** A limited set of names for metrics; later names share one. */
export class KnownNames {
  readonly #names = new Set<string>()
  readonly #most: number
  readonly #others: string

  constructor(most: number, others: string) {
    this.#most = most
    this.#others = others
  }

  get size(): number {
    return this.#names.size
  }

  nameOf(name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#most) return this.#others
    this.#names.add(name)
    return name
  }

  /** The tool of a call. A tool that wasn't found counts as unknown, even if other callers have it. */
  toolOf({ tool, code, schemaHash }: CallRecord): string {
    if (code === 'TOOL_NOT_FOUND') return UNKNOWN_TOOLS
    if (schemaHash !== undefined) return this.nameOf(tool)
    return this.#names.has(tool) ? tool : UNKNOWN_TOOLS
  }
}
