import type { DocumentFinding } from './check-document.ts'

/** What all documents add up to. */
export class Summary {
  readonly #published: DocumentFinding[] = []
  readonly #rewritten: DocumentFinding[] = []
  readonly violations: string[] = []
  /** What could not be checked, and why. */
  readonly unchecked: string[] = []

  add(finding: DocumentFinding): void {
    const { name, isRewritten, unreadable, withoutParams, violations } = finding
    if (isRewritten) this.#rewritten.push(finding)
    else this.#published.push(finding)
    if (unreadable !== undefined) this.unchecked.push(`${name}: ${unreadable}`)
    this.unchecked.push(...withoutParams.map((label) => `${name}: no parameters were found for ${label}`))
    this.violations.push(...violations.map((violation) => `${name}: ${violation}`))
  }

  /** How far it is. */
  toString(): string {
    const all = [...this.#published, ...this.#rewritten]
    const sum = (pick: (finding: DocumentFinding) => number): number => all.reduce((total, one) => total + pick(one), 0)
    const made = `${sum(({ found }) => found)} operations, ${sum(({ calls }) => calls)} calls`
    return `${all.length} documents, ${made}, ${this.violations.length} rules broken`
  }

  /** As Markdown; the same on every machine. */
  toMarkdown(): string {
    const rows: [what: string, pick: (finding: DocumentFinding) => number][] = [
      ['documents', () => 1],
      ['of them unreadable', ({ unreadable }) => (unreadable === undefined ? 0 : 1)],
      ['operations found', ({ found }) => found],
      ['mapped', ({ mapped }) => mapped],
      ['refused', ({ refused }) => refused.length],
      ['calls whose request was compared with the document', ({ calls }) => calls],
      ['tools that no parameters were found for', ({ withoutParams }) => withoutParams.length],
      ['rules broken by an import, a definition or a call', ({ violations }) => violations.length],
    ]
    const sums = rows.map(([what, pick]): [string, ...number[]] => [
      what,
      ...[this.#published, this.#rewritten].map((list) => list.reduce((total, one) => total + pick(one), 0)),
    ])
    return [
      table(['', 'as published', 'rewritten in Swagger 2'], sums),
      table(['refused because', 'operations'], most(this.#published.flatMap(({ refused }) => refused))),
      table(['noted of what is mapped', 'operations'], most(this.#published.flatMap(({ notes }) => notes))),
    ].join('\n\n')
  }
}

const MOST_ROWS = 20

/** A sentence without what it quotes, so that those that say the same are counted together. */
function kindOf(sentence: string): string {
  return sentence
    .replace(/"(?:[^"\\]|\\.)*"(?:, "(?:[^"\\]|\\.)*")*/g, '…')
    .replace(/'[^']*'/g, '…')
    .replace(/\$\{\w+\}/g, '${…}')
    .replace(/\b\d+ (level|parameter)s?\b/g, 'so many $1s')
}

function most(sentences: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const kind of sentences.map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const sorted = [...counts].sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
  const rest = sorted.slice(MOST_ROWS).reduce((sum, [, number]) => sum + number, 0)
  return [...sorted.slice(0, MOST_ROWS), ...(rest > 0 ? [['something else', rest] as [string, number]] : [])]
}

function table(header: readonly string[], rows: readonly (readonly [string, ...number[]])[]): string {
  const lines = rows.map(([what, ...numbers]) => {
    return [what.replaceAll('|', '\\|'), ...numbers.map((one) => one.toLocaleString('en-GB'))]
  })
  const rule = header.map((_, column) => (column === 0 ? '---' : '---:'))
  return [header, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
