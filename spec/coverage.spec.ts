import { expect, test } from 'vitest'
import { fits } from '../scripts/spec-coverage.ts'
import { specMissing } from '../scripts/spec-missing.ts'
import { specScenarios } from '../scripts/spec-scenarios.ts'

const scenariosOf = (...lines: string[]) =>
  specScenarios(['## 1. Section', '### Heading', ...lines].join('\n'))[0]?.scenarios

test('every scenario of the specification has a test, and every test a scenario', () => {
  expect(specMissing()).toEqual([])
})

test('a bullet is cut at semicolons, but not inside of code, brackets or quotes', () => {
  expect(scenariosOf('- one `a; b`; two (c; d) {e; f}; three "g; h". Still three.')).toEqual([
    'one `a; b`',
    'two (c; d) {e; f}',
    'three "g; h". Still three.',
  ])
})

test('the lead of a bullet is repeated before clauses that have none', () => {
  expect(scenariosOf('- types: one; two; other: three')).toEqual(['types: one', 'types: two', 'other: three'])
})

test('a clause that only goes on with the one before it is no scenario of its own', () => {
  expect(scenariosOf('- it says so; and it does; else not', '- first; then second')).toEqual([
    'it says so; and it does; else not',
    'first; then second',
  ])
})

test('the call of a table row is repeated before each of its clauses', () => {
  expect(scenariosOf('| call | does |', '| --- | --- |', '| `GET /x?a\\|b` `{c}` | runs; another 400 |')).toEqual([
    '`GET /x?a|b` `{c}`: runs',
    '`GET /x?a|b`: another 400',
  ])
})

test("a test's name is at least four of the scenario's words, in order", () => {
  expect(fits('a tool is cancelled', 'a *tool* that is late is `cancelled`')).toBe(true)
  expect(fits('cancelled is a tool', 'a tool that is late is cancelled')).toBe(false)
  expect(fits('tool is cancelled', 'a tool that is late is cancelled')).toBe(false)
  expect(fits('under 10 ms', 'under `10 ms`.')).toBe(true)
})
