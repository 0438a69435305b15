import type { Case } from './case.ts'
import type { Finding } from './run-in-child.ts'
import { versionOf } from './version-of.ts'

/** What was found: by adapter, then by case. */
export type Findings = ReadonlyMap<string, ReadonlyMap<string, Finding>>

const SIGNS = { pass: '✓', fail: '✗', none: '—' } as const

/** The name of a runtime as it says it, or as it was asked for. */
function nameOf(id: string, row: ReadonlyMap<string, Finding>): string {
  return row.values().find(({ name }) => name !== undefined)?.name ?? id
}

/** Who passes what, as Markdown. */
export function tableOf(findings: Findings, cases: readonly Case[]): string {
  const ids = [...findings]
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const counted = (row: ReadonlyMap<string, Finding>) => {
    const count = (wanted: Finding['status']) => row.values().reduce((sum, { status }) => sum + +(status === wanted), 0)
    return [count('pass'), count('fail'), count('none')].join(' / ')
  }
  return [
    line(['case', ...ids.map(([id, row]) => nameOf(id, row))]),
    line(['---', ...ids.map(() => ':-:')]),
    ...cases.map(({ id }) => line([`\`${id}\``, ...ids.map(([, row]) => SIGNS[row.get(id)?.status ?? 'none'])])),
    line(['✓ / ✗ / —', ...ids.map(([, row]) => counted(row))]),
  ].join('\n')
}

/** What was tested, with versions, as the beginning of a line. */
export function versionsOf(findings: Findings): string {
  const packages = [...findings.values()].flatMap(
    (row) => row.values().find(({ packages }) => packages)?.packages ?? [],
  )
  return packages.map((name) => `${name} ${versionOf(name)}, `).join('')
}

/** Why cases failed, or were not run, as a Markdown list. */
export function reasonsOf(findings: Findings, cases: readonly Case[]): string {
  const lines: string[] = []
  for (const [id, row] of findings) {
    for (const each of cases) {
      const { status = 'none', reason = '' } = row.get(each.id) ?? {}
      if (status !== 'pass') lines.push(`- ${SIGNS[status]} ${nameOf(id, row)}, \`${each.id}\`: ${plain(reason)}`)
    }
  }
  return lines.join('\n')
}

/** What a runtime said goes into a page: it must not be read as anything but text. */
const plain = (text: string): string => text.replaceAll(/[\\`*_[\]<>|]/g, (character) => `\\${character}`)
