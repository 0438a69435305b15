import type { Budget } from '../run.ts'

/** What is known of the one who asks: `intent`, `service`, `topic` and whatever else the host application says. */
export type Profile = Readonly<Record<string, unknown>>

/** One entry of `responses`: who is answered, by which model, with what prompt and which tools. */
export interface ResponseRule {
  /** Absent: the rule is for everybody. */
  readonly match?: RuleMatch
  /** A key of `providers`. */
  readonly llm: string
  /** Without the provider. */
  readonly model: string
  readonly prompt: string
  readonly max_tokens?: number
  readonly temperature?: number
  readonly tools?: {
    /** Only `true` enables. */
    readonly enabled?: boolean
    /** Absent: every tool the caller may use. */
    readonly allowed_tools?: readonly string[]
    readonly max_iterations?: number
  }
  readonly budget?: Budget
}

/** All must hold: the pattern, and every other key with the profile's value. */
export interface RuleMatch {
  /** A JavaScript literal: `/(weather|forecast)/i`. */
  readonly intent_regexp?: string
  readonly [key: string]: string | number | boolean | undefined
}
