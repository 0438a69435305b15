import { clampTimeout } from '../core/call.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { GlobalOptions } from './global-options.ts'
import { Interrupt } from './interrupt.ts'
import type { OpenManager } from './open.ts'
import { printableLine } from './printable.ts'
import { readParams } from './read-params.ts'
import { showResult } from './show-result.ts'
import type { Terminal } from './terminal.ts'
import { UsageError } from './usage-error.ts'

export interface RunCallOptions extends GlobalOptions {
  readonly timeoutMs: number | undefined
}

/** Makes one call with parameters as they were typed, and writes what came of it; gives the exit code. */
export async function runCall(
  terminal: Terminal,
  { manager, context }: OpenManager,
  name: string,
  words: readonly string[],
  options: RunCallOptions,
): Promise<number> {
  const { timeoutMs } = options
  let interrupt: Interrupt | undefined
  try {
    if (words[0] === '-' && terminal.stdin.isTTY) terminal.note('Type the parameters as JSON, then Ctrl-D.')
    const schema = manager.getRegistry().find(name)?.parameters
    const params = await readParams(words, schema, terminal.stdin)
    // From here on there is something to cancel; before, Ctrl-C ends the process as it always does.
    interrupt = new Interrupt()
    const result = await manager.getExecutor().execute(name, params, {
      ...context,
      signal: interrupt.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
      report: (progress) => showProgress(terminal, options, progress),
    })
    if (terminal.json) terminal.document(result)
    else showResult(terminal, result)
    return interrupt.exitCode ?? (result.success ? 0 : 1)
  } catch (error) {
    if (!(terminal.json && error instanceof UsageError)) throw error
    terminal.document(refusal(name, error))
    return 2
  } finally {
    interrupt?.stop()
  }
}

/** What `--timeout` says, brought inside its range; says so where that was needed. */
export function readTimeout(terminal: Terminal, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const asked = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || !Number.isFinite(asked)) {
    throw new UsageError(`--timeout takes a number of milliseconds, not '${printableLine(text)}'.`)
  }
  const applied = clampTimeout(asked, asked)
  if (applied !== asked) {
    terminal.note(`--timeout ${text} is out of range (1000 to 60000): the deadline is ${applied} ms.`)
  }
  return applied
}

/** Under `--json` a call ends in an envelope even where its parameters could not be read. */
function refusal(name: string, error: UsageError): ToolResult {
  const message = `Invalid parameters: ${error.message}`
  return { success: false, error: message, error_code: 'INVALID_PARAMETERS', tool_name: name, execution_time_ms: 0 }
}

function showProgress(terminal: Terminal, options: GlobalOptions, progress: unknown): void {
  if (!terminal.stderr.isTTY && !options.verbose) return
  const text = typeof progress === 'string' ? progress : (JSON.stringify(progress) ?? '')
  terminal.note(terminal.styleNote('dim', `… ${printableLine(text)}`))
}
