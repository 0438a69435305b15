import type { ToolFailure, ToolResult } from '../core/tool-result.ts'
import { printable, printableLine } from './printable.ts'
import { readableJson } from './readable-json.ts'
import type { Terminal } from './terminal.ts'

/** Writes an envelope for people: what came of the call on stdout, why nothing did on stderr. */
export function showResult(terminal: Terminal, result: ToolResult): void {
  const took = `${printableLine(result.tool_name)}, ${result.execution_time_ms.toFixed(1)} ms`
  if (result.success) {
    terminal.result(asText(result.result))
    if (terminal.watched) terminal.note(terminal.styleNote('dim', `✓ ${took}`))
    return
  }
  terminal.note(`${terminal.styleNote('red', `✗ ${printable(result.error)}`)}`)
  for (const line of advice(result)) terminal.note(`  ${line}`)
  terminal.note(terminal.styleNote('dim', `  ${result.error_code}, ${took}`))
}

/** A string as it is, anything else as JSON. */
export function asText(value: unknown): string {
  return printable(typeof value === 'string' ? value : readableJson(value))
}

function advice({ error_code, details, suggestions, outcome }: ToolFailure): string[] {
  const lines: string[] = []
  if (suggestions?.length) lines.push(`Did you mean ${suggestions.map(printableLine).join(' or ')}?`)
  else if (error_code === 'TOOL_NOT_FOUND') lines.push('"toolyard tools" lists those that there are.')
  const lacks = details?.problems.some(({ rule }) => rule === 'required')
  const required = lacks ? (details?.required ?? []) : []
  if (required.length > 0) lines.push('Required:')
  for (const { name, type, description } of required) {
    lines.push(`  ${printableLine(name)} (${printableLine(type)})${description && `: ${printableLine(description)}`}`)
  }
  if (outcome === 'unknown') lines.push('It may have happened all the same: look before you repeat it.')
  return lines
}
