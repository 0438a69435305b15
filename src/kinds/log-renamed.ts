import { type Log, writeLog } from '../core/log.ts'
import type { Params } from '../core/tool.ts'

/** Says that names of parameters were changed: the names only, since the values are the caller's. Gives those after. */
export function logRenamed(tool: string, before: Params, after: Params, log: Log): Params {
  if (after !== before) writeLog(log, 'debug', { tool }, `${named(before)} → ${named(after)}`)
  return after
}

const named = (params: Params): string => `{${Object.keys(params).join(': …, ')}: …}`
