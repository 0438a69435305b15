import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OfferedTool } from '../../src/models/model.ts'

/** Tools that are offered together, and where they come from. */
export interface ToolList {
  readonly from: string
  readonly tools: readonly OfferedTool[]
}

/** Where the data sets are looked for. */
export const dataFolder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '../../../shared/data')

/** The folders of the data sets. */
export const DATA = { mcp: join(dataFolder, 'mcp-tools'), bfcl: join(dataFolder, 'bfcl') }

/** Whether the data sets are there; says on the console where they are looked for if not. */
export function haveData(): boolean {
  const missing = Object.values(DATA).filter((path) => !existsSync(path))
  for (const path of missing) {
    console.warn(`skipped: no real tools at ${path} (set TOOLYARD_DATA_SETS to a folder with mcp-tools and bfcl)`)
  }
  return missing.length === 0
}

/** What MCP servers in use offer, a list for each. */
export function mcpLists(): ToolList[] {
  return readdirSync(DATA.mcp).map((file) => {
    const content = JSON.parse(readFileSync(join(DATA.mcp, file), 'utf8'))
    const listed = (Array.isArray(content) ? content : content.tools) as {
      readonly name: string
      readonly description?: string
      readonly inputSchema: OfferedTool['parameters']
    }[]
    const tools = listed.map(({ name, description = '', inputSchema }) => ({
      name,
      description,
      parameters: inputSchema,
    }))
    return { from: file, tools }
  })
}

/** The functions of the leaderboard, in lists without a name twice. */
export function bfclLists(): ToolList[] {
  const lists: Map<string, OfferedTool>[] = []
  const seen = new Set<string>()
  for (const written of bfclFunctions()) {
    const tool = { ...written, parameters: jsonSchema(written.parameters) as OfferedTool['parameters'] }
    const text = JSON.stringify(tool)
    if (seen.has(text)) continue
    seen.add(text)
    let list = lists.find((one) => one.size < 128 && !one.has(tool.name))
    if (list === undefined) {
      list = new Map()
      lists.push(list)
    }
    list.set(tool.name, tool)
  }
  return lists.map((list, at) => ({ from: `bfcl ${at + 1}`, tools: [...list.values()] }))
}

function bfclFunctions(): OfferedTool[] {
  const questions = lines(DATA.bfcl, (file) => file.startsWith('BFCL_')) as { readonly function?: OfferedTool[] }[]
  const documented = lines(join(DATA.bfcl, 'multi_turn_func_doc'), () => true) as OfferedTool[]
  return [...questions.flatMap((question) => question.function ?? []), ...documented].map(
    ({ name, description, parameters }) => ({ name, description, parameters }),
  )
}

function lines(path: string, wanted: (file: string) => boolean): unknown[] {
  return readdirSync(path)
    .filter(wanted)
    .flatMap((file) => readFileSync(join(path, file), 'utf8').split('\n'))
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line))
}

const TYPES: Readonly<Record<string, string | undefined>> = {
  dict: 'object',
  HashMap: 'object',
  float: 'number',
  double: 'number',
  tuple: 'array',
  ArrayList: 'array',
  Array: 'array',
  long: 'integer',
  char: 'string',
  String: 'string',
  Boolean: 'boolean',
  any: undefined,
  '': undefined,
}

/** The leaderboard's types are those of Python, Java and JavaScript. */
function jsonSchema(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (key === 'type' && typeof inner === 'string' && inner in TYPES) {
        return TYPES[inner] === undefined ? [] : [[key, TYPES[inner]]]
      }
      if (key !== 'properties') return [[key, jsonSchema(inner)]]
      return [[key, Object.fromEntries(Object.entries(inner).map(([name, schema]) => [name, jsonSchema(schema)]))]]
    }),
  )
}
