import type { CallRecord } from '../core/recorder.ts'

/** Names that callers make up would fill the memory: they are counted together. */
export const UNKNOWN_TOOLS = '(unknown tools)'

/** Names that figures are kept by: so many, and one for all that come later. */
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

  /** The tool of a call. One that was not found is unknown to its caller, even where others have it. */
  toolOf({ tool, code, schemaHash }: CallRecord): string {
    if (code === 'TOOL_NOT_FOUND') return UNKNOWN_TOOLS
    if (schemaHash !== undefined) return this.nameOf(tool)
    return this.#names.has(tool) ? tool : UNKNOWN_TOOLS
  }
}
