import type { ToolDefinition } from '../core/tool.ts'
import type { Comparison } from '../openapi/compare-definitions.ts'
import type { ImportReport } from '../openapi/import-openapi.ts'
import type { ImportConfiguration } from './import-configuration.ts'
import { SWITCHED_OFF } from './open-manager.ts'
import { printableLine } from './printable.ts'
import type { Terminal } from './terminal.ts'

/** More of a kind are counted. */
const MOST_LINES = 20

/** Writes what an import does: the tools that come, go and change, and what could not be mapped. */
export function showImport(terminal: Terminal, report: ImportReport, comparison: Comparison, file: string): void {
  const { added, removed, changed, unchanged, kept } = comparison
  const counts = [
    `${added.length} added`,
    `${removed.length} removed`,
    `${changed.length} changed`,
    `${unchanged.length} unchanged`,
  ]
  const left = report.excluded > 0 ? `, ${report.excluded} not asked for` : ''
  terminal.result(
    `${printableLine(file)}: ${report.mapped} of ${report.found} operations are tools (${counts.join(', ')}), ${report.refused.length} refused${left}.`,
  )
  lines(terminal, added, (name) => `+ ${name}`)
  lines(terminal, removed, (name) => `- ${name}`)
  lines(terminal, changed, ({ name, keys }) => `~ ${name}: ${keys.join(', ')}`)
  lines(terminal, report.refused, ({ operation, reason }) => `Refused: ${operation}: ${reason}`)
  lines(terminal, kept, ({ name, keys }) => `Kept as it was: ${keys.join(', ')} of ${name}`)
  for (const [note, operations] of Map.groupBy(report.notes, (one) => one.note)) {
    const others = operations.length > 1 ? ` (and ${operations.length - 1} more)` : ''
    terminal.note(printableLine(`Note: ${operations[0]?.operation}${others}: ${note}`))
  }
  called(terminal, 'webhook', report.webhooks)
  called(terminal, 'callback', report.callbacks)
  if (!report.secured && report.mapped > 0) {
    terminal.note(
      'The document does not say how callers show who they are: add "auth" to tools that need it. It stays there.',
    )
  }
}

function lines<T>(terminal: Terminal, all: readonly T[], line: (one: T) => string): void {
  for (const one of all.slice(0, MOST_LINES)) terminal.result(printableLine(line(one)))
  if (all.length > MOST_LINES) terminal.result(`  … and ${all.length - MOST_LINES} more (--json lists all)`)
}

/** Requests that the API makes. */
function called(terminal: Terminal, what: string, names: readonly string[]): void {
  if (names.length === 0) return
  const first = names.slice(0, 3).join(', ')
  const more = names.length > 3 ? ', …' : ''
  const number = `${names.length} ${what}${names.length === 1 ? '' : 's'}`
  terminal.note(printableLine(`Not imported, since the API sends them: ${number} (${first}${more})`))
}

/** What came of an import. */
export interface Outcome {
  readonly configuration: ImportConfiguration
  readonly written: boolean
  /** Whether the configuration includes the file since then. */
  readonly included: boolean
}

/** Writes what was done, and what is left to do. */
export function concludeImport(
  terminal: Terminal,
  { mapped, variables, definitions }: ImportReport,
  { configuration: { file, config, exists }, written, included }: Outcome,
): void {
  if (mapped === 0) {
    terminal.note('No operation can be a tool: nothing was written.')
    return
  }
  for (const name of variables) {
    const hosts = hostsOf(name, definitions).join(', ')
    const set = `${name} is set, and is sent to ${hosts}.`
    const missing = `Set ${name}: it is sent to ${hosts}. Tools without it are left out.`
    terminal.note(printableLine(process.env[name] ? set : missing))
  }
  const now = exists ? 'includes it now' : 'was made, and includes it'
  const where = `${printableLine(file)} ${included ? now : 'includes it already'}`
  terminal.note(written ? `Written; ${where}.` : 'Nothing was written: this was a dry run.')
  if (written && config.tools?.enabled !== true) terminal.note(SWITCHED_OFF)
}

/** Who gets the value of a variable. */
function hostsOf(variable: string, definitions: readonly ToolDefinition[]): string[] {
  const hosts = new Set<string>()
  for (const { implementation } of definitions) {
    const { url, headers, query, auth } = implementation
    const isIn = (part: unknown): boolean => JSON.stringify([part]).includes(`\${${variable}}`)
    const { token_url } = Object(auth) as { readonly token_url?: string }
    if (isIn([headers, query])) hosts.add(new URL(String(url)).host)
    if (isIn(auth)) hosts.add(new URL(token_url ?? String(url)).host)
  }
  return [...hosts].sort()
}
