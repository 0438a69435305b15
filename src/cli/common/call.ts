import { clampTimeout } from '../../core/execution/call.ts'
import type { ToolFailure, ToolResult } from '../../core/tool-result.ts'
import type { OpenManager } from './open.ts'
import { readParams } from './params.ts'
import { type GlobalOptions, Interrupt, printable, printableLine, type Terminal, UsageError } from './terminal.ts'

interface RunCallOptions extends GlobalOptions {
  readonly timeoutMs: number | undefined
  readonly approval?: string
}

/** Runs one call with parameters from the command line and writes the result; returns the exit code. */
export async function runCall(
  terminal: Terminal,
  { manager, context }: OpenManager,
  name: string,
  words: readonly string[],
  options: RunCallOptions,
): Promise<number> {
  const { timeoutMs, approval: approvalId } = options
  let interrupt: Interrupt | undefined
  try {
    if (words[0] === '-' && terminal.stdin.isTTY) terminal.note('Type the parameters as JSON, then press Ctrl-D.')
    const schema = manager.getRegistry().find(name)?.parameters
    const params = await readParams(words, schema, terminal.stdin)
    // Until here Ctrl-C ends the process as usual: there is no call to cancel.
    interrupt = new Interrupt()
    const result = await manager.getExecutor().execute(name, params, {
      ...context,
      signal: interrupt.signal,
      timeoutMs,
      approvalId,
      report: (progress) => showProgress(terminal, options, progress),
    })
    if (terminal.json) terminal.document(result)
    else showResult(terminal, result)
    return interrupt.exitCode ?? (result.success ? 0 : 1)
  } catch (error) {
    if (!(terminal.json && error instanceof UsageError)) throw error
    terminal.document(invalidParameters(name, error))
    return 2
  } finally {
    interrupt?.stop()
  }
}

/** Reads `--timeout` and clamps it to the valid range; stderr says so if that changed it. */
export function readTimeout(terminal: Terminal, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const asked = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || !Number.isFinite(asked)) {
    throw new UsageError(`--timeout takes a number of milliseconds, not '${printableLine(text)}'.`)
  }
  const applied = clampTimeout(asked)
  if (applied !== asked) {
    terminal.note(`--timeout ${text} is out of range (1000 to 60000): using ${applied} ms.`)
  }
  return applied
}

/** Under `--json` a call ends in an envelope even if its parameters could not be read. */
function invalidParameters(name: string, error: UsageError): ToolResult {
  const message = `Invalid parameters: ${error.message}`
  return { success: false, error: message, error_code: 'INVALID_PARAMETERS', tool_name: name, execution_time_ms: 0 }
}

function showProgress(terminal: Terminal, options: GlobalOptions, progress: unknown): void {
  if (!terminal.stderr.isTTY && !options.verbose) return
  const text = typeof progress === 'string' ? progress : (JSON.stringify(progress) ?? '')
  terminal.note(terminal.styleNote('dim', `… ${printableLine(text)}`))
}

/** Writes an envelope for people: the result to stdout, warnings and a failure to stderr. */
export function showResult(terminal: Terminal, result: ToolResult): void {
  const took = `${printableLine(result.tool_name)}, ${result.execution_time_ms.toFixed(1)} ms`
  for (const warning of result.warnings ?? []) terminal.note(`Warning: ${printableLine(warning)}`)
  if (result.success) {
    terminal.result(asText(result.result))
    if (terminal.watched) terminal.note(terminal.styleNote('dim', `✓ ${took}`))
    return
  }
  terminal.note(`${terminal.styleNote('red', `✗ ${printable(result.error)}`)}`)
  for (const line of advice(result)) terminal.note(`  ${line}`)
  terminal.note(terminal.styleNote('dim', `  ${result.error_code}, ${took}`))
}

/** A string unchanged, anything else as JSON. */
export function asText(value: unknown): string {
  return printable(typeof value === 'string' ? value : readableJson(value))
}

function advice({ error_code, details, suggestions, outcome }: ToolFailure): string[] {
  const lines: string[] = []
  if (suggestions?.length) lines.push(`Did you mean ${suggestions.map(printableLine).join(' or ')}?`)
  else if (error_code === 'TOOL_NOT_FOUND') lines.push('"toolyard tools" lists the tools.')
  const lacks = details?.problems?.some(({ rule }) => rule === 'required')
  const required = lacks ? (details?.required ?? []) : []
  if (required.length > 0) lines.push('Required:')
  for (const { name, type, description } of required) {
    lines.push(`  ${printableLine(name)} (${printableLine(type)})${description && `: ${printableLine(description)}`}`)
  }
  if (details?.approval) lines.push(`"toolyard approvals approve ${details.approval.id}" approves it.`)
  if (outcome === 'unknown') lines.push('The tool may have run all the same: check before you repeat the call.')
  return lines
}

const WIDTH = 100
const STEP = '  '

/** JSON for people: what fits on a line stays on one. */
export function readableJson(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = indent + STEP
  const parts = Array.isArray(value)
    ? value.map((item) => readableJson(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${readableJson(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const length = parts.reduce((sum, part) => sum + part.length + 2, indent.length + 2)
  if (parts.length === 0) return `${open}${close}`
  const fits = length <= WIDTH && !parts.some((part) => part.includes('\n'))
  if (fits) return Array.isArray(value) ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`
}
