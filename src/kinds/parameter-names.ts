import { type Log, writeLog } from '../core/log.ts'
import type { JsonSchema, Params } from '../core/tool.ts'

/**
 * Models write parameter names in snake_case, whatever the schema says; many MCP servers want camelCase and refuse the
 * rest, or, worse, ignore it. So names are brought into the server's form before anything is validated. This is for
 * tools of MCP servers only: everybody else's schema is written by the one who reads the parameters, and a tool that
 * takes `user_id` must get `user_id`.
 *
 * Names that mean the same but are spelt differently, by tool. They come first.
 */
const STATIC_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  control_zwave_device: { device_name: 'deviceName', command: 'action' },
}

/** The parameters under the names that the server knows, or the very same object where nothing has to change. Top level only. */
export function serverNames(tool: string, params: Params, schema: JsonSchema): Params {
  const declared = Object(schema.properties) as Record<string, unknown>
  const table = Object.hasOwn(STATIC_NAMES, tool) ? (STATIC_NAMES[tool] ?? {}) : {}
  const nameOf = (name: string): string => {
    if (Object.hasOwn(table, name)) return table[name] as string
    return Object.hasOwn(declared, name) ? name : camelCase(name)
  }
  if (Object.keys(params).every((name) => nameOf(name) === name)) return params
  const renamed: Params = {}
  for (const [name, value] of Object.entries(params)) {
    const wanted = nameOf(name)
    // A name that is there already is not overwritten: validation then says what is wrong.
    const taken = wanted !== name && (Object.hasOwn(params, wanted) || Object.hasOwn(renamed, wanted))
    renamed[taken ? name : wanted] = value
  }
  return renamed
}

/** `device_name` → `deviceName`; a name without an underscore inside passes. */
function camelCase(name: string): string {
  return name.replace(/(?<=[A-Za-z0-9])_+([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Says that names of parameters were changed: the names only, since the values are the caller's. Gives those after. */
export function logRenamed(tool: string, before: Params, after: Params, log: Log): Params {
  if (after !== before) writeLog(log, 'debug', { tool }, `${named(before)} → ${named(after)}`)
  return after
}

const named = (params: Params): string => `{${Object.keys(params).join(': …, ')}: …}`
