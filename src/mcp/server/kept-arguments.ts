import { randomUUID } from 'node:crypto'
import type { CallToolRequest } from '@modelcontextprotocol/server'
import { isObject } from '../../core/schema/schema-keywords.ts'

/** Random, so no client can set it. */
const KEPT = `toolyard/${randomUUID()}`

/** Keeps the arguments of a message in its `_meta` if one of them is called `__proto__`: the SDK would drop that one. */
export function keepArguments(message: unknown): void {
  const params = isObject(message) ? (message.params as Record<string, unknown> | undefined) : undefined
  if (!isObject(params) || !isObject(params.arguments) || !Object.hasOwn(params.arguments, '__proto__')) return
  Object.assign(params, { _meta: { ...Object(params._meta), [KEPT]: params.arguments } })
}

/** The parameters of a call with all arguments that the client sent. */
export function withKeptArguments(params: CallToolRequest['params']): CallToolRequest['params'] {
  const { [KEPT]: kept, ..._meta } = (params._meta ?? {}) as Record<string, unknown>
  return kept === undefined ? params : { ...params, _meta, arguments: kept as Record<string, unknown> }
}
