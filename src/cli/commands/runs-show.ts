import { counted } from '../../core/schema/problem-words.ts'
import type { GateDecision, RunStep, StoredRun } from '../../core/storage/run-store.ts'
import { printable, printableLine } from '../printable.ts'
import { readableJson } from '../readable-json.ts'
import { storedRun, type TenantOptions } from '../stored-run.ts'
import type { Terminal } from '../terminal.ts'

/** `toolyard runs show`: a run with every step. */
export async function runsShow(terminal: Terminal, id: string, options: TenantOptions): Promise<number> {
  const { recording: _, ...run } = await storedRun(terminal, id, options)
  if (terminal.json) terminal.document(run)
  else for (const line of linesOf(run)) terminal.result(line)
  return 0
}

function* linesOf(run: StoredRun): Generator<string> {
  const { model, started_at, duration_ms, stop_reason, question, answer, error, gate = [], steps } = run
  yield printableLine(`${model}, ${started_at}, ${Math.round(duration_ms)} ms, ended by ${stop_reason}`)
  yield `Question: ${printable(question)}`
  for (const decision of gate) yield printableLine(gated(decision))
  for (const step of steps) yield printable(step.type === 'model' ? turn(step) : called(step))
  yield `Answer: ${printable(answer)}`
  if (error !== null) yield `Error: ${printable(error)}`
}

const gated = ({ tool, decision, trials, successes, threshold }: GateDecision): string =>
  `${decision === 'hide' ? 'Not offered' : 'Warning'}: ${tool}, with which this model succeeded in ${successes} of ${trials} trials (${threshold} is needed)`

const turn = ({ iteration, duration_ms, finish_reason, text = '', tool_calls = 0 }: RunStep): string =>
  `${iteration}. model, ${duration_ms.toFixed(1)} ms, ${finish_reason}, ${counted(tool_calls, 'call')}${text === '' ? '' : `: ${text}`}`

const called = ({ iteration, duration_ms, tool, params, result }: RunStep): string =>
  `${iteration}. ${tool} ${readableJson(params)}, ${duration_ms.toFixed(1)} ms: ${readableJson(result)}`
