import { type CompiledTools, compileTools } from '../../src/models/dialects/compile-tools.ts'
import type { Dialect } from '../../src/models/provider.ts'
import { bfclLists, mcpLists, type ToolList } from './real-tools.ts'

export const DIALECTS = ['openai', 'anthropic', 'gemini', 'ollama'] as const satisfies readonly Dialect[]

/** The tables of docs/reference/tool-schemas.md, counted on the real tools. */
export function lossTables(): string {
  const sets = { 'MCP tools': mcpLists(), 'BFCL functions': bfclLists() }
  const lines = [
    '| | | sent | strict | renamed | something dropped | left out |',
    '| --- | --- | --- | --- | --- | --- | --- |',
  ]
  const keywords = new Map<string, number[]>()
  for (const [set, lists] of Object.entries(sets)) {
    for (const [at, dialect] of DIALECTS.entries()) {
      const compiled = lists.map(({ tools }) => compileTools(tools, dialect))
      lines.push(`| ${set} | ${dialect} | ${row(lists, compiled).join(' | ')} |`)
      for (const { keyword, instead } of compiled.flatMap(({ dropped }) => dropped)) {
        const key = instead === undefined ? `\`${keyword}\`` : `\`${keyword}\`, said by \`${instead}\``
        const counts = keywords.get(key) ?? DIALECTS.map(() => 0)
        counts[at] = (counts[at] ?? 0) + 1
        keywords.set(key, counts)
      }
    }
  }
  const rows = [...keywords].sort(([one], [other]) => (one < other ? -1 : 1))
  lines.push('', `| dropped | ${DIALECTS.join(' | ')} |`, `| --- |${' --- |'.repeat(DIALECTS.length)}`)
  for (const [keyword, counts] of rows) lines.push(`| ${keyword} | ${counts.join(' | ')} |`)
  return lines.join('\n')
}

function row(lists: readonly ToolList[], compiled: readonly CompiledTools[]): (string | number)[] {
  const tools = compiled.flatMap((one) => one.tools)
  const renamed = compiled.flatMap((one) => one.tools.filter(({ name }) => one.toolName(name) !== name))
  const touched = compiled.reduce((sum, { dropped }) => sum + new Set(dropped.map(({ tool }) => tool)).size, 0)
  const offered = lists.reduce((sum, list) => sum + list.tools.length, 0)
  const strict = tools.filter((tool) => tool.strict === true).length
  return [tools.length, strict === 0 ? '' : strict, renamed.length, touched, offered - tools.length]
}
