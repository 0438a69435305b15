import { codeIdentity, mock as coreMock } from '../core/execution/core-kinds.ts'
import { isAdapted, type LangchainTool, sourceOf } from '../core/execution/tool-view.ts'
import type { HandlerContext, Kind } from '../core/handler.ts'
import { asText } from '../core/json/json-depth.ts'
import { type Log, silentLog } from '../core/log.ts'
import { compileSchema } from '../core/schema/compiled-schema.ts'
import type { Effect, Params } from '../core/tool.ts'
import { type MediaPart, mediaFromUrl, readMedia, ToolExecutionError } from '../core/tool-result.ts'
import { logRenamed, serverNames } from './parameter-names.ts'
import { handlerKind, type ToolHandlers } from './tool-handlers.ts'

const MOCK_CASES = {
  type: 'array',
  items: {
    type: 'object',
    required: ['when', 'mock_response'],
    additionalProperties: false,
    properties: { when: { type: 'object' }, mock_response: {} },
  },
}

/** Mock tools in configurations. */
export const mock: Kind = {
  ...coreMock,
  schema: { properties: { type: {}, mock_response: {}, cases: MOCK_CASES } },
  problem({ implementation: { cases = [] } }) {
    const { check, explain } = compileSchema({ type: 'object', properties: { cases: MOCK_CASES } })
    return check?.({ cases })
      ? undefined
      : explain({ cases })
          .map(({ message }) => message)
          .join(', ')
  },
}

/** Kinds that need connections, and the log of the others. */
interface KindParts {
  readonly mcp?: Kind
  readonly http?: Kind
  readonly pipeline?: Kind
  readonly agent?: Kind
  readonly code_mode?: Kind | undefined
  readonly log?: Log
}

/** Every kind of tool, by `implementation.type`. */
export const kinds = (
  handlers: ToolHandlers,
  { mcp, http, pipeline, agent, code_mode, log }: KindParts = {},
): Readonly<Record<string, Kind>> => ({
  mock,
  builtin: handlerKind('Builtin', handlers),
  internal: handlerKind('Internal', handlers),
  langchain: langchainKind(log),
  ...(mcp && { mcp }),
  ...(http && { http }),
  ...(pipeline && { pipeline }),
  ...(agent && { agent }),
  ...(code_mode && { code_mode }),
})

const NOT_IN_CODE = 'LangChain tools are registered in code: pass the tool itself to ToolRegistry.register'

/** LangChain tools, run by their own `invoke`. */
export const langchainKind = (log: Log = silentLog): Kind => ({
  effect: (tool) => annotatedEffect(sourceOf(tool)),
  fault: (tool) => (sourceOf(tool) === undefined ? NOT_IN_CODE : undefined),
  identity: (tool) => ({ implementation: codeIdentity(tool, ...functionsOf(sourceOf(tool))) }),
  rename(tool, params) {
    const source = sourceOf(tool)
    if (source === undefined || !isAdapted(source)) return params
    return logRenamed(tool.name, params, serverNames(ownName(tool.name), params, tool.parameters), log)
  },
  bind(tool) {
    const source = sourceOf(tool)
    return () => {
      if (source === undefined) throw new ToolExecutionError('EXECUTION_ERROR', NOT_IN_CODE)
      return (params, context) => invokeTool(source, params, context)
    }
  },
})

/** What the user of LangChain wrote: a function, or the method of a class. */
const functionsOf = (source: LangchainTool | undefined): ((...given: never) => unknown)[] =>
  ['func', '_call', 'invoke'].flatMap((key) => {
    const code: unknown = source && Reflect.get(source, key)
    return typeof code === 'function' ? [code as (...given: never) => unknown] : []
  })

/** The effect that an MCP server declares; other tools may write. */
function annotatedEffect(tool: LangchainTool | undefined): Effect {
  if (tool === undefined || !isAdapted(tool)) return 'write'
  const { annotations } = Object(tool.metadata) as { annotations?: unknown }
  const { readOnlyHint, idempotentHint } = Object(annotations) as Record<string, unknown>
  if (readOnlyHint === true) return 'read'
  return idempotentHint === true ? 'idempotent' : 'write'
}

/** The name on the server, without the prefix that the adapters may add. */
const ownName = (name: string): string => name.split('__').at(-1) ?? name

async function invokeTool(
  tool: LangchainTool,
  params: Params,
  { signal, report }: Pick<HandlerContext, 'signal' | 'report'>,
): Promise<unknown> {
  // LangChain would read such parameters as a tool call and run the tool with unvalidated `args`.
  if (params.type === 'tool_call') {
    const problem = 'type must not be "tool_call", which LangChain takes for a call of its own'
    throw new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
  }
  try {
    // What the tool yields, dispatches or writes is progress. Awaited, or it would arrive after the result.
    const callbacks = [
      {
        awaitHandlers: true,
        handleToolEvent: report,
        handleCustomEvent: (_name: string, data: unknown) => report(data),
      },
    ]
    return plainResult(await tool.invoke(params as never, { signal, writer: report, callbacks } as never))
  } catch (error) {
    throw isRefusal(error, params) ? refused(error) : error
  }
}

/** The content of a LangChain message; other values stay as they are. */
function plainResult(result: unknown): unknown {
  if (!isMessage(result)) return withMedia(result)
  if (result.status === 'error') throw new ToolExecutionError('EXECUTION_ERROR', asText(result.content))
  return withMedia(result.content)
}

/** Content blocks of LangChain as media of ours. */
function withMedia(content: unknown): unknown {
  return Array.isArray(content) ? content.map((block) => mediaBlock(Object(block)) ?? block) : content
}

function mediaBlock(block: Readonly<Record<string, unknown>>): MediaPart | undefined {
  const { type, image_url, source_type, mime_type } = block
  if (type === 'image_url') return mediaFromUrl(Object(image_url).url ?? image_url, 'image/*')
  return source_type === undefined ? undefined : readMedia({ ...block, media_type: mime_type })
}

interface ReturnedMessage {
  readonly content: unknown
  readonly status?: unknown
}

const isMessage = (value: unknown): value is ReturnedMessage =>
  typeof value === 'object' && value !== null && 'lc_serializable' in value && 'content' in value

/**
 * Whether the tool's own validation failed: Zod has rules that JSON Schema can't express. Comparing the input excludes
 * errors of a tool that this tool called.
 */
const isRefusal = (error: unknown, params: Params): error is Error =>
  error instanceof Error &&
  error.constructor.name === 'ToolInputParsingException' &&
  Reflect.get(error, 'output') === JSON.stringify(params)

const refused = (error: Error): ToolExecutionError =>
  new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${error.message}`, {}, { cause: error })
