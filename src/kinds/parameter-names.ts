import { type Log, writeLog } from '../core/log.ts'
import { redactText } from '../core/records/redact.ts'
import type { JsonSchema, Params } from '../core/tool.ts'

/**
 * Models write parameter names in snake_case, whatever the schema says. Many MCP servers expect camelCase and reject or
 * ignore other names, so names are converted before validation. Only for tools of MCP servers: other tools get the names
 * in their schema.
 *
 * This table holds names that differ by more than their case, by tool. It is applied first.
 */
const STATIC_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  control_zwave_device: { device_name: 'deviceName', command: 'action' },
}

/**
 * Renames top-level parameters to the server's names; returns the same object if nothing changes. `configured` takes the
 * place of the table.
 */
export function serverNames(
  tool: string,
  params: Params,
  schema: JsonSchema,
  configured?: Readonly<Record<string, string>>,
): Params {
  const declared = Object(schema.properties) as Record<string, unknown>
  const table = configured ?? (Object.hasOwn(STATIC_NAMES, tool) ? (STATIC_NAMES[tool] ?? {}) : {})
  const nameOf = (name: string): string => {
    if (Object.hasOwn(table, name)) return table[name] as string
    return Object.hasOwn(declared, name) ? name : camelCase(name)
  }
  if (Object.keys(params).every((name) => nameOf(name) === name)) return params
  const renamed = new Map<string, unknown>()
  for (const [name, value] of Object.entries(params)) {
    const wanted = nameOf(name)
    // Existing names aren't overwritten: validation then reports the problem.
    const taken = wanted !== name && (Object.hasOwn(params, wanted) || renamed.has(wanted))
    renamed.set(taken ? name : wanted, value)
  }
  return Object.fromEntries(renamed)
}

/** `device_name` → `deviceName`; other names stay. */
function camelCase(name: string): string {
  return name.replace(/(?<=[A-Za-z0-9])_+([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Logs renamed parameters without their values, and returns them. */
export function logRenamed(tool: string, before: Params, after: Params, log: Log): Params {
  if (after !== before) writeLog(log, 'info', { tool }, `${named(before)} → ${named(after)}`)
  return after
}

/** Models may write anything as a name. */
const named = (params: Params): string => redactText(`{${Object.keys(params).join(': …, ')}: …}`, MAX_LOGGED_CHARACTERS)

const MAX_LOGGED_CHARACTERS = 1_000
