import type { FailureExtras } from '../tool-result.ts'
import type { Call } from './call.ts'

export type MaybePromise<Value> = Value | Promise<Value>

/** An answer: wrapped, because it may be null. */
export interface Known {
  readonly result: unknown
}

/** What a failed call says, and its extras if they are known. */
export interface Failure {
  readonly thrown: unknown
  readonly extras?: FailureExtras
}

/** Says what the call comes to, or lets it go on. Returns a promise only if it waits: most calls wait for no stage. */
type Stage<Value, Said> = (call: Call, value: Value) => MaybePromise<Said | undefined>

/**
 * What a call passes between its validation and its run, in this order, which is a security property. A stage may answer the
 * call, or throw.
 */
const BEFORE = [
  // What the call did before it waited: the approval that it names may be that of a call inside.
  'progress',
  // Before the rates: asking for an approval has counted.
  'approval.find',
  // Before anything that costs.
  'rates',
  // Nobody is asked to approve a call that can't run.
  'account',
  // The caller may have lost an answer that is paid and approved.
  'stored',
  // Nobody is asked to approve a call that isn't paid. A cached answer is free.
  'budget',
  // A person may change the parameters.
  'approval.pass',
  // The parameters are those that would run.
  'recall',
] as const

/** What a result passes. It is a copy, which no handler can change. A stage throws if the caller must not get it. */
const AFTER = [
  'check',
  // A handler or a check that blocked the thread past the deadline could not be interrupted.
  'late',
  // Only what the caller gets.
  'cache',
] as const

/** What a failed call passes. A stage says what it came to instead. */
const FAILED = [
  // A call that began before its run continued must not be made again.
  'begun',
  // What a call has done is stored before its caller hears that it waits.
  'hold',
] as const

/** What every call passes when its outcome is known. No stage may throw. */
const ENDED = [
  // The span and the record have it.
  'cost',
  'span',
  // The record has it.
  'payload',
  'record',
] as const

type Before = Stage<undefined, Known>
type After = Stage<unknown, never>
type Failed = Stage<unknown, Known | Failure>
/** `error` is empty if the call succeeded. */
type Ended = (call: Call, result: unknown, error: string) => void

type In<Slots extends readonly string[], Of> = Partial<Record<Slots[number], Of>>

/** What a part of the executor does in the calls of one tool. */
export interface Stages extends In<typeof BEFORE, Before>, In<typeof AFTER, After> {}

/** What a part of the executor does in calls. */
export interface CallHook<Tool> extends In<typeof FAILED, Failed>, In<typeof ENDED, Ended> {
  /** Asked when the tool is bound. What a call may bring counts, not only what the tool says. */
  readonly stages?: (tool: Tool) => Stages
}

/** The stages of the calls of one tool. */
export interface CompiledCall {
  readonly before: readonly Before[]
  readonly after: readonly After[]
}

export function compileCall<Tool>(hooks: readonly CallHook<Tool>[], tool: Tool): CompiledCall {
  const all = hooks.map((hook) => hook.stages?.(tool) ?? {})
  return {
    before: BEFORE.flatMap((slot) => all.flatMap((stages) => stages[slot] ?? [])),
    after: AFTER.flatMap((slot) => all.flatMap((stages) => stages[slot] ?? [])),
  }
}

/** The stages of the ends of all calls. */
export interface CompiledEnd {
  readonly failed: readonly Failed[]
  readonly ended: readonly Ended[]
}

export const compileEnd = <Tool>(hooks: readonly CallHook<Tool>[]): CompiledEnd => ({
  failed: FAILED.flatMap((slot) => hooks.flatMap((hook) => hook[slot] ?? [])),
  ended: ENDED.flatMap((slot) => hooks.flatMap((hook) => hook[slot] ?? [])),
})

/** What the first stage says that says something. */
export function firstSaid<Value, Said>(
  stages: readonly Stage<Value, Said>[],
  call: Call,
  value: Value,
  from = 0,
): MaybePromise<Said | undefined> {
  for (let at = from; at < stages.length; at++) {
    const said = (stages[at] as Stage<Value, Said>)(call, value)
    if (said instanceof Promise) return said.then((later) => later ?? firstSaid(stages, call, value, at + 1))
    if (said !== undefined) return said
  }
  return undefined
}
