import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { NoResponseRuleError } from '../../chat/response-rules.ts'
import type { RunAnswer, RunEvent, TrackedCall } from '../../chat/run.ts'
import { withUsualProviders } from '../../config/model-settings.ts'
import type { GateDecision } from '../../core/storage/run-store.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { awaitServers, missingServers, openManager, SHORT_WAIT_MS, SWITCHED_OFF, warnMissing } from '../common/open.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printable,
  printableLine,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const HELP = `
Without an API key or a model server, mini:v1 answers: a small model that ships with Toolyard. It calls tools but writes
no prose.

Examples:
  $ toolyard chat "What's the weather in Paris?"
  $ toolyard chat "Calculate 15% tip on $45" --model mini:v1
  $ toolyard chat "What time is it in Tokyo?" --model ollama:llama3.2:3b --json`

export function defineChat(chat: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  chat
    .argument('<message>', 'the question')
    .option('--model <id>', 'provider:model (default: by the response rules of the configuration)')
    .addHelpText('after', HELP)
    .action(run(ask))
}

interface ChatOptions extends GlobalOptions {
  readonly model?: string
}

/** `toolyard chat`: answers one question; 1 if the model did not finish its answer. */
async function ask(terminal: Terminal, message: string, options: ChatOptions): Promise<number> {
  if (message.trim() === '')
    throw new UsageError('The question is empty: toolyard chat "What\'s the weather in Paris?"')
  const named = options.model === undefined ? [] : [options.model]
  const opened = await openManager(terminal, options, { change: (config) => withUsualProviders(config, named) })
  const { manager } = opened
  const interrupt = new Interrupt()
  try {
    if (!manager.isEnabled()) terminal.note(SWITCHED_OFF)
    await awaitServers(manager, { ms: SHORT_WAIT_MS, signal: interrupt.signal, terminal })
    warnMissing(terminal, opened)
    const context = { ...opened.context, runId: randomUUID(), signal: interrupt.signal }
    const { durableRuns } = opened.installation ?? {}
    const run = (await manager.getChat()).run({
      ...{ message, context, ...(options.model && { model: options.model }) },
      ...(durableRuns && { through: (asked) => durableRuns.pausing(asked) }),
    })
    const answer = await show(terminal, run)
    const missing_servers = missingServers(opened)
    if (terminal.json) terminal.document({ ...answer, ...(missing_servers.length > 0 && { missing_servers }) })
    return interrupt.exitCode ?? (answer.stop_reason === 'stop' ? 0 : 1)
  } catch (error) {
    if (!(error instanceof UnknownModelError || error instanceof NoResponseRuleError)) throw error
    throw new UsageError(
      `${error.message}. "toolyard models" lists the models; choose one with --model. Add providers under "providers" in the configuration.`,
    )
  } finally {
    interrupt.stop()
    await opened.close()
  }
}

/** Writes a run as it proceeds: the answer to stdout, tool calls to stderr. */
async function show(terminal: Terminal, run: AsyncIterable<RunEvent>): Promise<RunAnswer> {
  const streams = terminal.watched && !terminal.json
  let said = ''
  for await (const event of run) {
    if (event.type === 'answer') {
      if (!terminal.json) conclude(terminal, event.answer, streams && said === event.answer.content)
      return event.answer
    }
    if (event.type === 'gate' && !terminal.json) for (const one of event.decisions) terminal.note(gated(terminal, one))
    if (event.type === 'text-delta' && streams) {
      said += event.text
      terminal.write(printable(event.text))
    }
    if (event.type === 'call-result') {
      // Text before a call is not part of the answer.
      if (said !== '') terminal.write('\n')
      said = ''
      if (!terminal.json) terminal.note(called(terminal, event.call))
    }
  }
  throw new Error('The run ended without an answer')
}

function gated(terminal: Terminal, { tool, decision, successes, trials }: GateDecision): string {
  const effect = decision === 'hide' ? 'it is not offered' : 'calls may be wrong'
  const line = `! ${tool}: this model used it correctly in ${successes} of ${trials} trials, so ${effect}`
  return terminal.styleNote('yellow', printableLine(line))
}

function called(terminal: Terminal, { tool, params, result, recovered }: TrackedCall): string {
  const sent = printableLine(typeof params === 'string' ? params : (JSON.stringify(params) ?? ''))
  const line = `→ ${printableLine(tool)} ${sent.length > 200 ? `${sent.slice(0, 200)}…` : sent}`
  const took = terminal.styleNote(
    'dim',
    `${recovered ? 'recovered from text, ' : ''}${result.execution_time_ms.toFixed(1)} ms`,
  )
  if (result.success) return `${line} ${terminal.styleNote('green', '✓')} ${took}`
  return `${line} ${terminal.styleNote('red', `✗ ${printable(result.error)}`)} ${took}`
}

function conclude(terminal: Terminal, answer: RunAnswer, written: boolean): void {
  const { content, final_answer, error, stop_reason, service, model, approvals, run_id } = answer
  if (written) terminal.write('\n')
  else terminal.result(printable(content))
  if (final_answer !== undefined) terminal.note(`Final answer: ${printable(final_answer)}`)
  if (error !== undefined) terminal.note(terminal.styleNote('red', printable(error)))
  for (const { id, tool, params } of approvals ?? []) {
    terminal.note(printableLine(`? ${tool} ${JSON.stringify(params)}`))
    terminal.note(`  "toolyard approvals approve ${id}" approves it, "toolyard approvals reject ${id}" rejects it.`)
  }
  if (run_id !== undefined) {
    terminal.note(`Then a server continues the run: "toolyard serve". "toolyard runs show ${run_id}" shows its answer.`)
  }
  const stopped = stop_reason === 'stop' ? '' : `, stopped: ${stop_reason}`
  if (terminal.watched || stopped)
    terminal.note(terminal.styleNote('dim', `${printableLine(`${service}:${model}`)}${stopped}`))
}
