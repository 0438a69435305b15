import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/core/tool.ts'
import { compileTools } from '../../src/models/dialects/compile-tools.ts'
import type { WireTool } from '../../src/models/provider.ts'
import { DIALECTS } from './count-losses.ts'
import { SUBSETS } from './documented-subsets.ts'
import { DATA } from './real-tools.ts'

interface Group {
  readonly file: string
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly { readonly data: unknown; readonly valid: boolean }[]
}

const folder = join(DATA.mcp, '../json-schema-test-suite/draft2020-12')
if (!existsSync(folder))
  console.warn(`skipped: the JSON Schema test suite is not at ${folder} (set TOOLYARD_DATA_SETS)`)

/** Ajv gets these wrong, or they are about other meta-schemas. */
const NOT_FOR_AJV = /^(unevaluated|dynamicRef|vocabulary)/

describe.skipIf(!existsSync(folder))('the schemas of the official test suite', () => {
  const groups = (): Group[] =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .flatMap((file) =>
        JSON.parse(readFileSync(join(folder, file), 'utf8')).map((group: object) => ({ ...group, file })),
      )

  test.each(DIALECTS)('become what %s takes, as parameters and as one of them', (dialect) => {
    const faults: unknown[] = []
    let sent = 0
    for (const { description, schema } of groups()) {
      for (const parameters of [schema, { type: 'object', properties: { a: schema } }]) {
        const { tools } = compileTools(
          [{ name: 'tool', description: '', parameters: parameters as JsonSchema }],
          dialect,
        )
        for (const tool of tools) {
          sent++
          const found = SUBSETS[dialect === 'openai' ? 'openai responses' : dialect](body(dialect, tool))
          if (found.length > 0) faults.push({ description, found })
        }
      }
    }
    expect(faults).toEqual([])
    expect(sent).toBeGreaterThan(500)
  })

  test.each(['openai', 'anthropic'] as const)('still let in for %s what they let in before', (dialect) => {
    const narrowed: unknown[] = []
    const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true })
    for (const { file, description, schema, tests } of groups()) {
      if (NOT_FOR_AJV.test(file) || typeof schema !== 'object') continue
      const { tools } = compileTools([{ name: 'tool', description: '', parameters: schema as JsonSchema }], dialect)
      if (tools[0] === undefined || tools[0].strict === true) continue
      const check = ajv.compile(tools[0].parameters)
      for (const { data, valid } of tests) {
        const isParams = typeof data === 'object' && data !== null && !Array.isArray(data)
        if (valid && isParams && !check(data)) narrowed.push({ file, description, data })
      }
    }
    expect(narrowed).toEqual([])
  })
})

function body(dialect: (typeof DIALECTS)[number], tool: WireTool): Record<string, unknown> {
  const { parameters, ...rest } = tool
  switch (dialect) {
    case 'openai':
      return { tools: [{ type: 'function', ...tool }] }
    case 'anthropic':
      return { tools: [{ ...rest, input_schema: parameters }] }
    case 'gemini':
      return { tools: [{ functionDeclarations: [{ ...rest, parametersJsonSchema: parameters }] }] }
    case 'ollama':
      return { tools: [{ type: 'function', function: tool }] }
  }
}
