import { beforeAll, describe, expect, test } from 'vitest'
import { compileSchema } from '../../src/core/schema/compiled-schema.ts'
import type { JsonSchema, Params, ToolDefinition } from '../../src/core/tool.ts'
import { buildSuite } from '../../src/validation/load-suite.ts'
import { generateSuite } from '../../src/validation/suites/generate-suite.ts'
import type { ObservedCall, Suite, SuiteFile } from '../../src/validation/suites/suite.ts'
import { bfclLists, haveData, mcpLists } from './real-tools.ts'

interface Generated {
  readonly definitions: readonly ToolDefinition[]
  readonly file: SuiteFile
  readonly suite: Suite
}

describe.skipIf(!haveData())('suites generated for tools in use', () => {
  const generated: Generated[] = []
  const counts: Record<string, number> = {}

  beforeAll(() => {
    for (const { from, tools } of [...mcpLists(), ...bfclLists()]) {
      const definitions = tools.map((tool) => ({
        ...tool,
        description: tool.description || `The tool ${tool.name}.`,
        implementation: { type: 'mock' },
      }))
      const file = generateSuite(definitions)
      const cases = file.cases.map((value) => ({ place: from, value }))
      generated.push({ definitions, file, suite: buildSuite({ name: from, cases }, definitions) })
      for (const { id = '' } of file.cases) {
        const kind = id.slice(id.lastIndexOf('/') + 1)
        counts[kind] = (counts[kind] ?? 0) + 1
      }
    }
  })

  test('have cases of all four kinds, for all 822 tools of MCP servers and 1,843 functions of BFCL', () => {
    expect(generated.flatMap(({ definitions }) => definitions)).toHaveLength(822 + 1843)
    expect(counts).toEqual({ simple: 2664, distractor: 2653, missing_parameter: 2492, irrelevance: 2665 })
  })

  test('find values for all but one, whose list of values is none of its type', () => {
    const remarks = generated.flatMap(({ file }) => file.remark ?? [])
    expect(remarks).toEqual(['No valid parameters were found for extract_parameters_v1: write cases for them by hand.'])
  })

  test('expect calls only that the validator takes, and leave out only what it misses', () => {
    for (const { definitions, file } of generated) {
      const schemas = new Map(definitions.map(({ name, parameters }) => [name, compileSchema(parameters)]))
      for (const { id, expect: expected } of file.cases) {
        for (const { tool, params = {} } of expected.calls ?? []) {
          expect(schemas.get(tool)?.check?.(plain(params)), id).toBe(true)
        }
      }
    }
  })

  test('are passed whole by a perfect model, and failed where they should be by one that does nothing', () => {
    for (const { file, suite } of generated) {
      for (const [at, one] of suite.cases.entries()) {
        const { calls = [] } = file.cases[at]?.expect ?? {}
        const right = calls.map(({ tool, params = {} }): ObservedCall => ({ tool, params: plain(params) }))
        expect(one.judge([{ calls: right, answer: '' }]), one.id).toEqual({ passed: true })
        expect(one.judge([{ calls: [], answer: '' }]).passed, one.id).toBe(calls.length === 0)
      }
    }
  })

  test('are failed by a model that calls everything, but where one call without values is right', () => {
    for (const { file, suite } of generated) {
      for (const [at, one] of suite.cases.entries()) {
        const calls = one.tools.map(({ name }) => ({ tool: name, params: {} }))
        const { calls: expected = [] } = file.cases[at]?.expect ?? {}
        const none = one.tools.length === 1 && expected.length === 1 && isDefault(expected[0]?.params, one.tools[0])
        expect(one.judge([{ calls, answer: '' }]).passed, one.id).toBe(none)
      }
    }
  })
})

const plain = (params: Params): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, (value as { $equals?: unknown } | null)?.$equals ?? value]),
  )

/** Whether a call without parameters means the same, because of defaults. */
function isDefault(params: Params = {}, tool: ToolDefinition | undefined): boolean {
  const properties = (tool?.parameters.properties ?? {}) as Record<string, JsonSchema>
  return Object.entries(plain(params)).every(
    ([name, value]) => JSON.stringify(properties[name]?.default) === JSON.stringify(value),
  )
}
