import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { requiredParameters } from '../execution/parameter-check.ts'
import type { JsonSchema } from '../tool.ts'
import { compileSchema } from './compiled-schema.ts'
import { guardSchema } from './guard-schema.ts'

const data = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '../../../../shared/data')
const folder = join(data, 'mcp-tools')

if (!existsSync(folder)) console.warn(`skipped: the tools of MCP servers are not at ${folder} (set TOOLYARD_DATA_SETS)`)

describe.skipIf(!existsSync(folder))('the tools of MCP servers in use', () => {
  it('all pass the guard, compile and are ordinary', () => {
    const tools = readdirSync(folder).flatMap((file) => toolsIn(join(folder, file)))
    const refused = tools.filter(({ inputSchema }) => {
      requiredParameters(inputSchema)
      return !guardSchema(inputSchema).ordinary || compileSchema(inputSchema).check === undefined
    })
    expect(refused.map(({ name }) => name)).toEqual([])
    expect(tools).toHaveLength(822)
  })
})

function toolsIn(path: string): { readonly name: string; readonly inputSchema: JsonSchema }[] {
  const content = JSON.parse(readFileSync(path, 'utf8'))
  return Array.isArray(content) ? content : content.tools
}
