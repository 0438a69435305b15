import { createHash } from 'node:crypto'
import type { Dialect } from '../provider.ts'

/** The names a provider accepts. */
interface NameRule {
  readonly pattern: RegExp
  readonly unfit: RegExp
  readonly longest: number
}

const WORD: NameRule = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, unfit: /[^a-zA-Z0-9_-]/g, longest: 64 }

const RULES: Readonly<Record<Exclude<Dialect, 'plain'>, NameRule>> = {
  openai: WORD,
  anthropic: { pattern: /^[a-zA-Z0-9_-]{1,128}$/, unfit: /[^a-zA-Z0-9_-]/g, longest: 128 },
  gemini: { pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, unfit: /[^a-zA-Z0-9_.-]/g, longest: 64 },
  // Ollama takes any name, but models were taught on names like OpenAI's.
  ollama: WORD,
}

/**
 * Names that a provider accepts, for tools of any name. A name that it accepts stays as it is, always; which tools
 * stand beside it, and in which order, changes a name only where two would become the same.
 */
export class WireNames {
  readonly #rule: NameRule | undefined
  readonly #wire = new Map<string, string>()
  readonly #tool = new Map<string, string>()

  constructor(names: Iterable<string>, dialect: Dialect) {
    this.#rule = dialect === 'plain' ? undefined : RULES[dialect]
    if (this.#rule === undefined) return
    const { pattern } = this.#rule
    const all = [...new Set(names)]
    for (const name of all) if (pattern.test(name)) this.#set(name, name)
    const rest = all.filter((name) => !pattern.test(name)).sort()
    const wanted = Map.groupBy(rest, (name) => this.#fitted(name))
    for (const [fitted, claimants] of wanted) {
      const alone = claimants.length === 1 && !this.#tool.has(fitted)
      for (const name of claimants) this.#set(name, alone ? fitted : this.#marked(name, fitted))
    }
  }

  /** The name for the provider, also for a tool that is offered no more. */
  wireName(name: string): string {
    const known = this.#wire.get(name)
    if (known !== undefined) return known
    if (this.#rule === undefined || this.#rule.pattern.test(name)) return name
    const fitted = this.#fitted(name)
    return this.#tool.has(fitted) ? this.#marked(name, fitted) : fitted
  }

  /** The tool that the provider means; a name that is nobody's stays as it is. */
  toolName(wireName: string): string {
    return this.#tool.get(wireName) ?? wireName
  }

  #set(name: string, wireName: string): void {
    this.#wire.set(name, wireName)
    this.#tool.set(wireName, name)
  }

  #fitted(name: string): string {
    const { pattern, unfit, longest } = this.#rule ?? WORD
    const legal = name.replaceAll(unfit, '_')
    const begun = legal === '' || !pattern.test(legal.slice(0, 1)) ? `_${legal}` : legal
    return begun.length > longest ? this.#marked(name, begun) : begun
  }

  /** Tells names apart that would be the same: a piece of their hash at the end. */
  #marked(name: string, fitted: string): string {
    const { longest } = this.#rule ?? WORD
    for (let round = 0; ; round++) {
      const text = round === 0 ? name : `${name} ${round}`
      const marked = `${fitted.slice(0, longest - 9)}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
      if (!this.#tool.has(marked)) return marked
    }
  }
}
