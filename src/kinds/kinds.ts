import type { Kind } from '../core/kind.ts'
import type { HttpKind } from './http/http-kind.ts'
import { langchainKind } from './langchain-kind.ts'
import { type McpParts, mcpKind } from './mcp-kind.ts'
import { mock } from './mock.ts'
import { handlerKind, type ToolHandlers } from './tool-handlers.ts'

/** Dependencies of some kinds. A kind without its dependency is left out. */
export interface KindParts {
  readonly mcp?: McpParts
  readonly http?: HttpKind
}

/** Every kind of tool, by `implementation.type`. */
export const kinds = (handlers: ToolHandlers, { mcp, http }: KindParts = {}): Readonly<Record<string, Kind>> => ({
  mock,
  builtin: handlerKind('Builtin', handlers),
  internal: handlerKind('Internal', handlers),
  langchain: langchainKind(mcp?.log),
  ...(mcp && { mcp: mcpKind(mcp) }),
  ...(http && { http }),
})
