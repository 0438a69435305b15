import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { compileSchema } from '../../src/core/schema/compiled-schema.ts'
import type { JsonSchema, Params } from '../../src/core/tool.ts'
import { BFCL_CATEGORIES } from '../../src/validation/bfcl/bfcl-category.ts'
import { type BfclCase, type BfclSuite, loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'
import type { FailureKind, ObservedCall, ObservedTurn } from '../../src/validation/suites/suite.ts'
import { perfectTurns } from './perfect-calls.ts'
import { DATA, dataFolder, haveData } from './real-tools.ts'

const COUNTS: Readonly<Record<string, number>> = {
  simple_python: 400,
  simple_java: 100,
  simple_javascript: 50,
  multiple: 200,
  parallel: 200,
  parallel_multiple: 200,
  irrelevance: 240,
  live_simple: 258,
  live_parallel: 16,
}

/** One rule broken in the first call of a case, and what must come of it. */
const BROKEN: readonly (readonly [FailureKind, (calls: readonly ObservedCall[]) => readonly ObservedCall[]])[] = [
  ['wrong_count', () => []],
  ['wrong_count', (calls) => [...calls, calls[0] as ObservedCall]],
  ['wrong_tool', (calls) => first(calls, (call) => ({ ...call, tool: `not_${call.tool}` }))],
  ['unexpected_parameter', (calls) => first(calls, (call) => ({ ...call, params: { ...call.params, not_one: 1 } }))],
  ['missing_parameter', (calls) => first(calls, (call) => ({ ...call, params: {} }))],
  ['wrong_type', (calls) => first(calls, (call) => ({ ...call, params: changed(call.params, () => [[{}]]) }))],
  ['wrong_value', (calls) => first(calls, (call) => ({ ...call, params: changed(call.params, other) }))],
  ['malformed_call', (calls) => first(calls, ({ tool }) => ({ tool, params: undefined }))],
]

/** Its first answer accepts what the second wants, and takes it when it comes first, as the published checker does. */
const OVERLAPPING = 'parallel_178'

const first = (calls: readonly ObservedCall[], change: (call: ObservedCall) => ObservedCall): ObservedCall[] =>
  calls.map((call, at) => (at === 0 ? change(call) : call))

const changed = (params: Params | undefined, change: (value: unknown) => unknown): Params =>
  Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, change(value)]))

/** Another value of the same type. */
function other(value: unknown): unknown {
  if (typeof value === 'string') return `no ${value} at all`
  if (typeof value === 'number') return value + 1_000_003
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return [...value, value[0] ?? 'one more']
  return { ...(value as object), one_more: 1 }
}

const answered = (calls: readonly ObservedCall[]): ObservedTurn => ({ calls, answer: '' })

describe.skipIf(!haveData())('the Berkeley Function-Calling Leaderboard', () => {
  const suites = new Map<string, BfclSuite>()
  const casesOf = (name: string): readonly BfclCase[] => (suites.get(name) as BfclSuite).cases

  beforeAll(async () => {
    for (const { name } of BFCL_CATEGORIES) suites.set(name, await loadBfcl(name, dataFolder))
  })

  test.each(BFCL_CATEGORIES)('$name is loaded completely', ({ name }) => {
    const lines = readFileSync(join(DATA.bfcl, `BFCL_v4_${name}.json`), 'utf8').split('\n')
    expect(casesOf(name)).toHaveLength(COUNTS[name] as number)
    expect(lines.filter((line) => line.trim() !== '')).toHaveLength(COUNTS[name] as number)
    expect(new Set(casesOf(name).map(({ id }) => id)).size).toBe(COUNTS[name])
  })

  test('its counts are in docs/guides/bfcl.md', () => {
    const page = readFileSync(new URL('../../docs/guides/bfcl.md', import.meta.url), 'utf8')
    for (const [name, count] of Object.entries(COUNTS)) expect(page).toContain(`| \`bfcl:${name}\` | ${count} |`)
  })

  test.each(BFCL_CATEGORIES)('every function of $name is a tool that providers and the validator take', ({ name }) => {
    const schemas = new Map<string, JsonSchema>()
    for (const { tools } of casesOf(name)) {
      expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length)
      expect(tools.filter((tool) => !/^[\w-]{1,64}$/.test(tool.name))).toEqual([])
      expect(tools.filter(({ implementation }) => implementation.type !== 'mock')).toEqual([])
      for (const { parameters } of tools) schemas.set(JSON.stringify(parameters), parameters)
    }
    expect([...schemas.values()].filter((schema) => compileSchema(schema).check === undefined)).toEqual([])
  })

  test.each(BFCL_CATEGORIES)('a perfect model passes every case of $name', ({ name }) => {
    const verdicts = casesOf(name).map((one) => ({ id: one.id, verdict: one.judge(perfectTurns(one)) }))
    expect(verdicts.filter(({ verdict }) => !verdict.passed)).toEqual([])
  })

  test('parallel calls may come in any order, but for one case whose answers overlap', () => {
    const cases = ['parallel', 'parallel_multiple', 'live_parallel'].flatMap(casesOf)
    const reversed = (one: BfclCase) => perfectTurns(one).map(({ calls }) => answered([...calls].reverse()))
    expect(cases.filter((one) => !one.judge(reversed(one)).passed).map(({ id }) => id)).toEqual([OVERLAPPING])
  })

  test.each(BFCL_CATEGORIES.filter(({ rule }) => rule !== 'no_call'))(
    'in $name a call with one rule broken fails for that reason',
    ({ name }) => {
      const seen = new Map<FailureKind, number>()
      for (const one of casesOf(name)) {
        const turns = perfectTurns(one)
        const at = turns.findIndex(({ calls }) => Object.keys(calls[0]?.params ?? {}).length > 0)
        if (at < 0 || one.id === OVERLAPPING) continue
        for (const [kind, breaking] of BROKEN) {
          if (!isSure(one, at, kind)) continue
          const broken = turns.map((turn, index) => (index === at ? answered(breaking(turn.calls)) : turn))
          expect(one.judge(broken), `${one.id} ${kind}`).toMatchObject({ passed: false, kind })
          seen.set(kind, (seen.get(kind) ?? 0) + 1)
        }
      }
      expect([...seen.keys()].sort()).toEqual([...new Set(BROKEN.map(([kind]) => kind))].sort())
    },
  )

  test('no call is right where no function can help, and any call is wrong', () => {
    for (const one of casesOf('irrelevance')) {
      expect(one.judge([answered([])])).toEqual({ passed: true })
      const tool = one.tools[0]?.name ?? 'anything'
      expect(one.judge([answered([{ tool, params: {} }])])).toMatchObject({ kind: 'unwanted_call', tool })
    }
  })
})

/** A value of any type cannot be of a wrong one, and where nothing is required nothing is missing for sure. */
function isSure({ accepted, tools }: BfclCase, turn: number, kind: FailureKind): boolean {
  const [call] = accepted[turn] ?? []
  const { parameters } = tools.find(({ name }) => name === call?.name.replaceAll('.', '_')) ?? {}
  const { properties, required = [] } = parameters as {
    readonly properties: Readonly<Record<string, { readonly type?: unknown }>>
    readonly required?: readonly string[]
  }
  if (kind === 'missing_parameter') return required.length > 0
  const plain = ['integer', 'string', 'boolean', kind === 'wrong_type' ? 'number' : 'array']
  const checked = kind === 'wrong_type' || kind === 'wrong_value'
  return !checked || Object.values(properties).every(({ type }) => plain.includes([type].flat()[0] as string))
}
