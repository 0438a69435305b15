import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Params } from '../../src/core/tool.ts'
import { BFCL_CATEGORIES } from '../../src/validation/bfcl/bfcl-category.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'
import type { FailureKind, ObservedTurn, SuiteCase } from '../../src/validation/suites/suite.ts'
import { dataFolder, haveData } from './real-tools.ts'

type Calls = readonly (readonly [tool: string, params: Params | null])[]

/** A constructed answer to a question of the leaderboard, and what the published rules say of it. */
interface Row {
  readonly case: string
  readonly rule: string
  readonly calls: Calls
  readonly verdict: 'right' | FailureKind
  /** Where the published checker says something else, for the reasons in docs/guides/bfcl.md. */
  readonly published?: FailureKind
}

const ROWS: readonly Row[] = readFileSync(join(import.meta.dirname, 'bfcl-agreement.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))

const KINDS = ['wrong_count', 'wrong_tool', 'missing_parameter', 'unexpected_parameter', 'wrong_type', 'wrong_value']

const categoryOf = ({ case: id }: Row): string =>
  BFCL_CATEGORIES.map(({ name }) => name)
    .sort((one, other) => other.length - one.length)
    .find((name) => id.startsWith(`${name}_`)) as string

describe('the table of constructed answers', () => {
  test.each(BFCL_CATEGORIES)('has at least 12 for $name, and breaks each of its rules', ({ name, rule }) => {
    const verdicts = ROWS.filter((row) => categoryOf(row) === name).map(({ verdict }) => verdict)
    expect(verdicts.length).toBeGreaterThanOrEqual(12)
    const kinds = rule === 'no_call' ? ['unwanted_call'] : KINDS
    expect([...new Set(verdicts)].sort()).toEqual(expect.arrayContaining(['right', ...kinds]))
  })

  test('says where the published checker differs', () => {
    const differing = ROWS.filter(({ published }) => published !== undefined)
    expect(differing).toHaveLength(4)
    for (const { verdict, published } of differing) expect(published).not.toBe(verdict)
  })

  test('is counted in docs/guides/bfcl.md', () => {
    const page = readFileSync(new URL('../../docs/guides/bfcl.md', import.meta.url), 'utf8')
    for (const { name } of BFCL_CATEGORIES) {
      const count = ROWS.filter((row) => categoryOf(row) === name).length
      expect(page).toMatch(new RegExp(`^\\| \`bfcl:${name}\` \\| [\\d,]+ \\| ${count} \\|`, 'm'))
    }
  })
})

describe.skipIf(!haveData())('constructed answers', () => {
  const cases = new Map<string, SuiteCase>()

  beforeAll(async () => {
    for (const { name } of BFCL_CATEGORIES) {
      for (const one of (await loadBfcl(name, dataFolder)).cases) cases.set(one.id, one)
    }
  })

  test.each(ROWS)('to $case: $rule: $verdict', (row) => {
    const verdict = (cases.get(row.case) as SuiteCase).judge([observed(row.calls)])
    expect(verdict.passed ? 'right' : verdict.kind, JSON.stringify(verdict)).toBe(row.verdict)
  })
})

const observed = (calls: Calls): ObservedTurn => ({
  calls: calls.map(([tool, params]) => ({ tool, params: params ?? undefined })),
  answer: '',
})
