import { canonicalText } from '../core/json/canonical-text.ts'
import type { ToolResult } from '../core/tool-result.ts'

/** Why a call isn't run, and whether that ends the run. */
interface Refusal {
  readonly message: string
  readonly ends: boolean
}

const RUNS_OF_ONE_CALL = 2
const RUNS_INTO_ONE_ERROR = 3

interface Streak {
  readonly error: string
  count: number
  refused: boolean
}

/** Stops repeated calls, alternating calls and calls that keep failing: refuses one, then ends the run. */
export class CallGuard {
  readonly #counts = new Map<string, number>()
  /** By tool; undefined until a call fails. */
  #streaks: Map<string, Streak> | undefined = undefined
  readonly #recent: string[] = []
  #alternationRefusedIn: number | undefined = undefined

  judge(tool: string, params: unknown, iteration: number): Refusal | undefined {
    const key = keyOf(tool, params)
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    const alternates = this.#alternates(key)
    this.#recent.push(key)
    if (this.#recent.length > 5) this.#recent.shift()
    if (count > RUNS_OF_ONE_CALL) return this.#refuseRepetition(tool, count, alternates, iteration)
    return this.#refuseError(tool)
  }

  learn(tool: string, result: ToolResult): void {
    if (result.success) {
      this.#streaks?.delete(tool)
      return
    }
    const error = `${result.error_code} ${result.error}`
    this.#streaks ??= new Map()
    const streak = this.#streaks.get(tool)
    if (streak?.error === error) streak.count++
    else this.#streaks.set(tool, { error, count: 1, refused: false })
  }

  #refuseRepetition(tool: string, count: number, alternates: boolean, iteration: number): Refusal {
    const goesOn = alternates && this.#alternationRefusedIn !== undefined && this.#alternationRefusedIn < iteration
    if (alternates) this.#alternationRefusedIn ??= iteration
    const advice = 'Use the results you have, call with other parameters, or answer'
    const message = alternates
      ? `Tool '${tool}' was not run: the same two calls keep alternating with the same parameters. ${advice}`
      : `Tool '${tool}' was not run: it was already called twice with exactly these parameters. ${advice}`
    return { message, ends: goesOn || count > RUNS_OF_ONE_CALL + 1 }
  }

  #refuseError(tool: string): Refusal | undefined {
    const streak = this.#streaks?.get(tool)
    if (streak === undefined || streak.count < RUNS_INTO_ONE_ERROR) return undefined
    const ends = streak.refused
    streak.refused = true
    return {
      message: `Tool '${tool}' was not run: its last ${streak.count} calls failed with the same error. Use another tool, or answer`,
      ends,
    }
  }

  /** Whether this call and one other have alternated for two rounds. */
  #alternates(key: string): boolean {
    const recent = this.#recent
    const n = recent.length
    if (n < 4 || recent[n - 2] !== key || recent[n - 4] !== key) return false
    return recent[n - 1] === recent[n - 3] && recent[n - 1] !== key
  }
}

function keyOf(tool: string, params: unknown): string {
  try {
    return `${tool}\n${canonicalText(params)}`
  } catch {
    // The executor refuses values that are nested too deeply.
    return `${tool}\n`
  }
}
