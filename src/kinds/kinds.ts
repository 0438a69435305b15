import type { Kind } from '../core/kind.ts'
import { handlerKind } from './handler-kind.ts'
import { mock } from './mock.ts'
import type { ToolHandlers } from './tool-handlers.ts'

/** Every kind of tool, by `implementation.type`: a new one is one file and one line here. */
export const kinds = (handlers: ToolHandlers): Readonly<Record<string, Kind>> => ({
  mock,
  builtin: handlerKind('Builtin', handlers),
  internal: handlerKind('Internal', handlers),
})
