import type { RunAnswer, TrackedCall } from '../../../src/chat/run.ts'
import type { RunStep, StoredRun } from '../../../src/core/storage/run-store.ts'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import type { ServerEvent } from '../api/read-events.ts'

/** A call of a run in any state. */
export interface RunCall {
  readonly id: string
  readonly tool: string
  /** The streamed text; the parsed parameters once complete. */
  readonly params: unknown
  readonly progress?: unknown
  readonly result?: ToolResult
  /** The loop skipped the call. */
  readonly notRun?: boolean
  /** The model printed it as text. */
  readonly recovered?: boolean
  /** Absent until it runs. */
  readonly startedAt?: number
  /** Of a stored run: the place of its step. */
  readonly step?: number
}

/** A model turn with its calls. */
export interface RunTurn {
  readonly iteration: number
  readonly startedAt: number
  /** The duration of the model response; absent while it streams. */
  readonly durationMs?: number
  readonly text: string
  readonly calls: readonly RunCall[]
  /** Tokens if the provider reports usage, cost if prices are known. */
  readonly tokens?: number
  readonly cost?: number
}

export type Answer = RunAnswer & { readonly run_id?: string }

/** The current state of a run. */
export interface RunState {
  readonly status: 'running' | 'waiting' | 'done' | 'cancelled' | 'failed'
  readonly model: string
  readonly query: string
  readonly startedAt: number
  readonly durationMs?: number
  readonly turns: readonly RunTurn[]
  readonly answer?: Answer
  readonly problem?: string
}

export const newRun = (model: string, query: string, now: number): RunState => ({
  status: 'running',
  model,
  query,
  startedAt: now,
  turns: [newTurn(1, now)],
})

const newTurn = (iteration: number, startedAt: number): RunTurn => ({ iteration, startedAt, text: '', calls: [] })

/** Applies an event to a run. */
export function nextRun(run: RunState, { event, data }: ServerEvent, now: number): RunState {
  const given = data as Record<string, unknown>
  const id = String(given.id)
  switch (event) {
    case 'text-delta':
      return speaking(run, now, (turn) => ({ ...turn, text: turn.text + String(given.text) }))
    case 'tool-call-start':
      return speaking(run, now, (turn) => ({
        ...turn,
        calls: [...turn.calls, { id, tool: String(given.name), params: '' }],
      }))
    case 'tool-call-delta':
      return withCall(run, id, (call) => ({ ...call, params: String(call.params) + String(given.text) }))
    case 'tool-call-end': {
      const { call } = given as { call: { id: string; function: { name: string; arguments: string } } }
      const done = endTurn(run, now)
      const known = done.turns.at(-1)?.calls.some((one) => one.id === call.id)
      const made = { id: call.id, tool: call.function.name, params: parsed(call.function.arguments), startedAt: now }
      if (known) return withCall(done, call.id, (one) => ({ ...one, ...made }))
      return withTurn(done, (turn) => ({ ...turn, calls: [...turn.calls, made] }))
    }
    case 'usage': {
      const { usage, cost } = given as { usage: { total_tokens: number }; cost?: number }
      const used = { tokens: usage.total_tokens, ...(cost !== undefined && { cost }) }
      return endTurn(
        speaking(run, now, (turn) => ({ ...turn, ...used })),
        now,
      )
    }
    case 'call-progress':
      return withCall(run, id, (call) => ({ ...call, progress: given.progress }))
    case 'call-result':
      return withResult(endTurn(run, now), id, given.call as TrackedCall, now)
    case 'answer':
      return answered(endTurn(run, now), data as Answer, now - run.startedAt)
    case 'error':
      return failed(run, String(given.error ?? 'The run failed.'), now)
    case 'shutdown':
      return failed(run, 'The server stopped before the run ended.', now)
    default:
      return run
  }
}

/** A run that waits for approval has an answer, too. */
export const answered = (run: RunState, answer: Answer, durationMs: number): RunState => ({
  ...run,
  status: answer.status === 'waiting' ? 'waiting' : answer.stop_reason === 'cancelled' ? 'cancelled' : 'done',
  answer,
  durationMs,
})

export const failed = (run: RunState, problem: string, now: number): RunState => ({
  ...run,
  status: 'failed',
  problem,
  durationMs: now - run.startedAt,
})

/** Converts a stored run to the same form. */
export function storedRun(run: StoredRun): { turns: RunTurn[] } {
  const turns: RunTurn[] = []
  for (const [place, step] of run.steps.entries()) {
    if (step.type === 'model') {
      const turn = newTurn(step.iteration, Date.parse(step.started_at))
      turns.push({ ...turn, durationMs: step.duration_ms, text: step.text ?? '', ...usedIn(step) })
    } else {
      const call = { id: `${turns.length}-${step.tool}-${step.started_at}`, tool: step.tool ?? '', params: step.params }
      const last = turns.at(-1) ?? newTurn(step.iteration, Date.parse(step.started_at))
      const startedAt = Date.parse(step.started_at)
      const over = { result: step.result as ToolResult, startedAt, ...(step.recovered && { recovered: true }) }
      const unique = { ...call, id: `${call.id}-${last.calls.length}`, ...over, step: place }
      turns.splice(Math.max(0, turns.length - 1), 1, { ...last, calls: [...last.calls, unique] })
    }
  }
  return { turns }
}

/** Absent in runs of older versions. */
function usedIn({ prompt_tokens, completion_tokens = 0, cost }: RunStep): Pick<RunTurn, 'tokens' | 'cost'> {
  if (prompt_tokens === undefined) return {}
  return { tokens: prompt_tokens + completion_tokens, ...(cost !== undefined && { cost }) }
}

/** Text after results starts a new turn. */
function speaking(run: RunState, now: number, change: (turn: RunTurn) => RunTurn): RunState {
  const last = run.turns.at(-1)
  const answered = last?.calls.some(({ result }) => result !== undefined)
  if (last === undefined || !answered) return withTurn(run, change)
  return { ...run, turns: [...run.turns, change(newTurn(last.iteration + 1, askedAgain(last, now)))] }
}

/** The next turn starts when all results are in, before the model streams text. */
const askedAgain = ({ calls }: RunTurn, now: number): number =>
  Math.min(now, Math.max(...calls.map(({ startedAt = now, result }) => startedAt + (result?.execution_time_ms ?? 0))))

function withTurn(run: RunState, change: (turn: RunTurn) => RunTurn): RunState {
  const last = run.turns.at(-1)
  return last === undefined ? run : { ...run, turns: [...run.turns.slice(0, -1), change(last)] }
}

const withCall = (run: RunState, id: string, change: (call: RunCall) => RunCall): RunState =>
  withTurn(run, (turn) => ({ ...turn, calls: turn.calls.map((call) => (call.id === id ? change(call) : call)) }))

function withResult(run: RunState, id: string, call: TrackedCall, now: number): RunState {
  const { tool, params, result, not_run, recovered } = call
  const startedAt = now - result.execution_time_ms
  const marks = { ...(not_run && { notRun: true }), ...(recovered && { recovered: true }) }
  const over = { tool, params, result, startedAt, ...marks }
  const known = run.turns.at(-1)?.calls.some((call) => call.id === id)
  if (known) return withCall(run, id, (call) => ({ ...call, ...over }))
  return withTurn(run, (turn) => ({ ...turn, calls: [...turn.calls, { id, ...over }] }))
}

const endTurn = (run: RunState, now: number): RunState =>
  withTurn(run, (turn) => (turn.durationMs === undefined ? { ...turn, durationMs: now - turn.startedAt } : turn))

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
