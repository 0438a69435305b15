import type { Params } from '../../../core/tool.ts'

/** A parameter's value, where the call has it itself: `toString` may well be the name of one. */
export function own(params: Params, name: string): unknown {
  return Object.hasOwn(params, name) ? params[name] : undefined
}
