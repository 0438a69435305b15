import { randomUUID } from 'node:crypto'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { snapshotParams } from '../../core/snapshot.ts'
import type { JsonSchema, Params } from '../../core/tool.ts'
import type { OfferedTool, ToolCall } from '../model.ts'
import type { PrintedCall } from './printed-call.ts'
import { readJson } from './read-json-calls.ts'

/** Beyond that the executor would judge elsewhere, and so not at once. */
const MOST_STEPS = 2_000_000

/** The calls, if each of them is for an offered tool and its arguments are valid; else undefined. */
export function acceptCalls(calls: readonly PrintedCall[], tools: readonly OfferedTool[]): ToolCall[] | undefined {
  const accepted = calls.map((call) => acceptCall(call, tools))
  return accepted.every((call) => call !== undefined) ? accepted : undefined
}

function acceptCall(call: PrintedCall, tools: readonly OfferedTool[]): ToolCall | undefined {
  const tool = tools.find(({ name }) => name === call.name)
  if (tool === undefined) return undefined
  const args = call.untyped ? typed(call.args, tool.parameters) : call.args
  if (!isValid(args, tool.parameters)) return undefined
  return {
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: tool.name, arguments: JSON.stringify(args) },
    metadata: { recovered: true },
  }
}

function isValid(args: Params, schema: JsonSchema): boolean {
  try {
    const { check, cost, textCost, fillDefaults } = compileSchema(schema)
    const { params, nodes, characters } = snapshotParams(args)
    fillDefaults?.(params)
    return check !== undefined && cost * nodes + textCost * characters <= MOST_STEPS && check(params)
  } catch {
    // A schema that does not compile, or arguments that no tool takes.
    return false
  }
}

/** Values that came as text: as they are where the schema wants text, else as the JSON (or Python) they are. */
function typed(args: Params, { properties }: JsonSchema): Params {
  const schemas = typeof properties === 'object' && properties !== null ? properties : {}
  return Object.fromEntries(
    Object.entries(args).map(([key, text]) => {
      const schema: unknown = Object.hasOwn(schemas, key) ? Reflect.get(schemas, key) : undefined
      const value = wantsText(schema) ? undefined : readValue(String(text))
      return [key, value === undefined ? text : value]
    }),
  )
}

function wantsText(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return true
  return [Reflect.get(schema, 'type')].flat().includes('string')
}

const PYTHON_WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

const readValue = (text: string): unknown => readJson(PYTHON_WORDS[text.trim()] ?? text)
