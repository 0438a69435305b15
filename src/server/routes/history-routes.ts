import type { FastifyInstance } from 'fastify'
import type { PayloadPolicy } from '../../app/payloads.ts'
import { redactedJson, redactText } from '../../core/records/redact.ts'
import { type ListedChat, RESPONSE_PREFIX } from '../../core/storage/chat-store.ts'
import type { Message } from '../../models/model.ts'
import { ONE_TENANT_QUERY, oneTenantAsked, TENANT_QUERY, tenantAsked } from '../http/context.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME } from '../http/route.ts'
import type { ChatView, ShownCall, ShownChat } from '../http/views.ts'
import { SHOWN_COLUMNS, withName } from './record-routes.ts'

const MAX_ID = 200

const CALL = object(
  {
    row: object(SHOWN_COLUMNS),
    payload: {
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        'The parameters, and the result or the error, without secrets. `shortened` is true if a part was too long. Null if they are not stored.',
    },
    payloads: { enum: ['off', 'errors', 'all'], description: 'Whether the payloads of calls are stored now.' },
    run: { type: 'boolean', description: 'Whether the run of the call is stored.' },
  },
  'The call',
)

const CHAT = {
  id: { type: 'string', description: 'As the client named it.' },
  caller: { type: 'string', description: 'The id of the API key or the user.' },
  turns: COUNT,
  bytes: COUNT,
  started_at: TIME,
  updated_at: TIME,
}
const CHAT_QUERY = {
  ...ONE_TENANT_QUERY,
  caller: { type: 'string', minLength: 1, maxLength: 400, description: 'The id of the API key or the user.' },
}

/** Single calls with their payloads, and stored chats. */
export function historyRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { storage } = installation

  app.get<{ Params: { id: string }; Querystring: { tenant?: string } }>(
    '/audit/:id',
    route('observe', 'audit', 'Returns a call or an event, with the stored parameters and result of the call', {
      params: pathParameter('id', MAX_ID),
      querystring: exactly(TENANT_QUERY),
      response: { 200: CALL },
    }),
    async (request): Promise<ShownCall> => {
      const { id } = request.params
      const tenant = tenantAsked(request, request.query.tenant)
      await installation.settle()
      const { row, payload } = found(await storage.ledger.row(tenant, id), `Row '${id}'`)
      const run = row.run_id !== null && (await storage.runs.get(row.tenant, row.run_id)) !== undefined
      const { callers, payloads } = installation
      return { row: withName(row, callers), payload: payload === null ? null : JSON.parse(payload), payloads, run }
    },
  )

  app.get<{ Querystring: { tenant?: string; caller?: string; limit: number; cursor?: string } }>(
    '/api/chats',
    route('observe', 'chat', 'Lists the stored chats of a tenant, the one with the newest message first', {
      querystring: exactly({
        ...CHAT_QUERY,
        limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
        cursor: { type: 'string', minLength: 1, maxLength: 200, description: '`next` of the previous page.' },
      }),
      response: {
        200: object({
          chats: list({ ...CHAT, question: { type: 'string', description: 'The beginning of the last question.' } }),
          next: { type: 'string', description: 'The cursor of the next page; absent on the last.' },
        }),
      },
    }),
    async (request) => {
      const { tenant: asked, ...filter } = request.query
      const tenant = oneTenantAsked(request, asked, 'Chats')
      const { chats, ...rest } = await storage.chats.list({ ...filter, tenant })
      return { chats: chats.map(shownChat), ...rest }
    },
  )

  app.get<{ Params: { id: string }; Querystring: { tenant?: string; caller?: string } }>(
    '/api/chats/:id',
    route('observe', 'chat', 'Returns the messages of a chat, without secrets', {
      description: 'Parameters and results of calls are shown if `storage.payloads` is `all`.',
      params: pathParameter('id', MAX_ID),
      querystring: { ...exactly(CHAT_QUERY), required: ['caller'] },
      response: {
        200: object({
          id: TEXT,
          caller: TEXT,
          turns: list({
            id: TEXT,
            run_id: { ...TEXT, description: 'The run that answered; absent in turns of older versions.' },
            messages: { type: 'array', items: { type: 'object', additionalProperties: true } },
          }),
        }),
      },
    }),
    async (request): Promise<ChatView> => {
      const { id } = request.params
      const { caller = '' } = request.query
      const tenant = oneTenantAsked(request, request.query.tenant, 'Chats')
      // A response is for its own caller only.
      const turns = id.startsWith(RESPONSE_PREFIX) ? [] : await storage.chats.turns({ tenant, caller, chat: id })
      if (turns.length === 0) throw new HttpProblem(404, `Chat '${id}' not found`)
      return {
        id,
        caller,
        turns: turns.map(({ messageId, messages, runId }) => ({
          id: messageId,
          ...(runId !== undefined && { run_id: runId }),
          messages: shownMessages(messages, installation.payloads),
        })),
      }
    },
  )
}

const NOT_SHOWN = JSON.stringify('Not shown: see storage.payloads')

/** The messages without secrets; with parameters and results only if those of all calls may be stored. */
function shownMessages(text: string, policy: PayloadPolicy): Message[] {
  const messages: Message[] = JSON.parse(redactedJson(JSON.parse(text)))
  return policy === 'all' ? messages : messages.map(withoutPayloads)
}

function withoutPayloads(message: Message): Message {
  if (message.role === 'tool') return { ...message, content: NOT_SHOWN }
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message
  const tool_calls = message.tool_calls.map((call) => ({
    ...call,
    function: { ...call.function, arguments: NOT_SHOWN },
  }))
  return { ...message, tool_calls }
}

const shownChat = ({ chat, caller, turns, bytes, first_at, last_at, latest }: ListedChat): ShownChat => ({
  ...{ id: chat, caller, turns, bytes },
  started_at: new Date(first_at).toISOString(),
  updated_at: new Date(last_at).toISOString(),
  question: beginningOf(latest),
})

const CONTENT = /"(?:content|text)":"((?:[^"\\]|\\.)*)/

/** The first text in messages whose JSON was cut. */
function beginningOf(messages: string): string {
  const [, escaped = ''] = CONTENT.exec(messages) ?? []
  try {
    return redactText(JSON.parse(`"${escaped}"`))
  } catch {
    // An escape was cut.
    return redactText(escaped)
  }
}
