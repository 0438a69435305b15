import { readFileSync } from 'node:fs'

/** A heading of the specification, with each of its scenarios as one statement. */
export interface Requirement {
  /** The number of the section, or `II` in the second part. */
  readonly section: string
  readonly title: string
  readonly heading: string
  readonly scenarios: readonly string[]
}

const specification = new URL('../spec/specification.md', import.meta.url)

/**
 * Reads the specification. Each bullet is cut into its clauses, and so is each table row; a clause is a scenario.
 *
 * - Semicolons cut, but not inside of code, brackets or quotes. What follows a full stop stays with its clause.
 * - What stands before the colon of a bullet's first clause is its lead, and the call of a table row is the row's. The
 *   lead is repeated before later clauses that have none of their own: `types: nothing is coerced`.
 * - A clause that begins with "and" or "else" goes on with the one before it; so does "then", where no lead carries it.
 */
export function specScenarios(markdown = readFileSync(specification, 'utf8')): Requirement[] {
  const requirements: (Requirement & { scenarios: string[] })[] = []
  let section = ''
  let title = ''
  let current: string[] | undefined
  const open = (heading: string): void => {
    current = []
    requirements.push({ section, title, heading, scenarios: current })
  }
  for (const line of markdown.split('\n')) {
    const part = /^# Part (\w+)$/.exec(line)
    const numbered = /^## (\d+)\. (.+)$/.exec(line)
    if (part) {
      section = part[1] ?? ''
      title = `Part ${section}`
      current = undefined
    } else if (numbered) {
      section = numbered[1] ?? ''
      title = numbered[2] ?? ''
      current = undefined
    } else if (line.startsWith('### ')) {
      open(line.slice(4).trim())
    } else if (line.startsWith('- ')) {
      // A section with bullets of its own is its own heading.
      if (!current) open(title)
      current?.push(...bulletScenarios(line.slice(2).trim()))
    } else if (/^\| *`/.test(line)) {
      current?.push(...rowScenarios(line))
    }
  }
  return requirements
}

function bulletScenarios(bullet: string): string[] {
  const [first = '', ...later] = cut(bullet, ';')
  const lead = leadOf(first)
  const continues = lead ? /^(and|else) / : /^(and|else|then) /
  const scenarios = [first]
  for (const clause of later) {
    if (continues.test(clause)) scenarios.push(`${scenarios.pop()}; ${clause}`)
    else scenarios.push(lead && !leadOf(clause) ? `${lead}: ${clause}` : clause)
  }
  return scenarios
}

function rowScenarios(row: string): string[] {
  const [call = '', does = ''] = row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
  const lead = /`[^`]*`/.exec(call)?.[0] ?? call
  return cut(does, ';').map((clause, index) => `${index === 0 ? call : lead}: ${clause}`)
}

/** The words before a colon, where they stand in the clause's first sentence. */
function leadOf(clause: string): string | undefined {
  const [sentence = ''] = cut(clause, '. ')
  const [lead, ...rest] = cut(sentence, ': ')
  return rest.length > 0 ? lead : undefined
}

/** Cuts at a mark, but not inside of code, brackets or quotes. */
function cut(text: string, mark: string): string[] {
  const parts: string[] = []
  let depth = 0
  let quote = ''
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote) {
      if (character === quote) quote = ''
    } else if (character === '`' || character === '"') quote = character
    else if ('([{'.includes(character)) depth++
    else if (')]}'.includes(character)) depth--
    else if (depth === 0 && text.startsWith(mark, at)) {
      parts.push(text.slice(start, at).trim())
      start = at + mark.length
    }
  }
  parts.push(text.slice(start).trim())
  return parts.filter((part) => part !== '')
}
