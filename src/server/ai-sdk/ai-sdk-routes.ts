import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Caller, LOCAL_CALLER } from '../../app/callers/callers.ts'
import type { Profile } from '../../chat/response-rules.ts'
import type { RunAnswer } from '../../chat/run.ts'
import { OperationError } from '../../core/operation/operation-error.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { mediaFromUrl } from '../../core/tool-result.ts'
import { mediaIn, textIn } from '../../models/content.ts'
import type { Content, Part } from '../../models/model.ts'
import { answerChat, chatProblem, MAX_TEXT_LENGTH, PROFILE } from '../chat/chat-routes.ts'
import { type RunEvents, streamRun } from '../chat/client-run.ts'
import { HttpProblem, problemOf } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { Conversations } from './conversations.ts'
import { type ClientCall, UiMessageStream } from './ui-message-stream.ts'

const MAX_ID_LENGTH = 200
const MAX_PARTS = 100
const MAX_REASON_LENGTH = 1_000

const ID = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH } as const

/** The body that `DefaultChatTransport` sends, with `model` and `profile` of its option `body`. */
const BODY = {
  type: 'object',
  required: ['id', 'messages'],
  additionalProperties: false,
  properties: {
    // Responses of `/v1/responses` are stored under such ids.
    id: {
      ...ID,
      pattern: '^(?!resp_)',
      description: 'The id of the chat. The server has the conversation, for this caller only.',
    },
    messages: {
      type: 'array',
      minItems: 1,
      description:
        'UI messages. The last one is the question, or has approved or rejected calls; the server ignores the others.',
      items: { type: 'object', required: ['role'] },
    },
    trigger: {
      enum: ['submit-message', 'regenerate-message'],
      description: 'Both replace the question if its id is known, and the answer.',
    },
    messageId: { type: 'string', maxLength: MAX_ID_LENGTH },
    model: { type: 'string', maxLength: 300, description: 'provider:model. Default: the response rules choose.' },
    profile: PROFILE,
  },
} as const

interface Body {
  readonly id: string
  readonly messages: readonly UiMessage[]
  readonly model?: string
  readonly profile?: Profile
}

type UiMessage = Readonly<Record<string, unknown>>

interface Question {
  readonly messageId: string
  readonly message: Content
}

interface Decision {
  readonly id: string
  readonly approved: boolean
  readonly reason: string | undefined
}

/** An assistant message whose calls the user has approved or rejected. */
interface Decided {
  readonly runId: string
  readonly decisions: readonly Decision[]
  readonly calls: ReadonlyMap<string, ClientCall>
}

/** Reads the decisions of the last message; undefined if it has none. */
function readDecisions(messages: readonly UiMessage[]): Decided | undefined {
  const { id, role, parts } = messages.at(-1) as UiMessage
  if (role !== 'assistant' || typeof id !== 'string' || !Array.isArray(parts)) return undefined
  const decisions: Decision[] = []
  const calls = new Map<string, ClientCall>()
  for (const part of parts) {
    const { toolCallId, state, approval } = isObject(part) ? part : {}
    if (typeof toolCallId !== 'string') continue
    const { id, approved, reason } = isObject(approval) ? approval : {}
    if (state !== 'approval-responded') calls.set(toolCallId, 'ended')
    else if (typeof id === 'string' && typeof approved === 'boolean') {
      decisions.push({
        id,
        approved,
        reason: typeof reason === 'string' ? reason.slice(0, MAX_REASON_LENGTH) : undefined,
      })
      calls.set(toolCallId, approved ? 'approved' : 'rejected')
    }
  }
  return decisions.length === 0 ? undefined : { runId: id, decisions, calls }
}

/** Reads the last message. Throws a problem that names what is wrong with it. */
function readQuestion(messages: readonly UiMessage[]): Question {
  const place = `messages[${messages.length - 1}]`
  const { id, role, parts } = messages.at(-1) as UiMessage
  if (role !== 'user') {
    throw invalid(`${place}.role must be "user", not ${quoted(role)}: the last message is the question`)
  }
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) {
    throw invalid(`${place}.id must be a string of 1 to ${MAX_ID_LENGTH} characters`)
  }
  if (!Array.isArray(parts) || parts.length > MAX_PARTS) {
    throw invalid(`${place}.parts must be an array of at most ${MAX_PARTS} parts`)
  }
  const read = parts.map((part: unknown, index) => readPart(part, `${place}.parts[${index}]`))
  const text = textIn(read)
  const hasMedia = mediaIn(read).length > 0
  if (text.trim() === '' && !hasMedia) throw new HttpProblem(400, 'The message is empty')
  if (text.length > MAX_TEXT_LENGTH) throw invalid(`${place} must have at most ${MAX_TEXT_LENGTH} characters of text`)
  return { messageId: id, message: hasMedia ? read : text }
}

function readPart(part: unknown, place: string): Part {
  const { type, text, mediaType, url, filename } = isObject(part) ? part : {}
  if (type === 'text' && typeof text === 'string') return { type, text }
  if (type === 'text') throw invalid(`${place}.text must be a string`)
  if (type !== 'file')
    throw invalid(`${place}: parts of type ${quoted(type)} are not supported, only "text" and "file"`)
  const media = mediaFromUrl(url, mediaType, filename)
  if (media === undefined) {
    throw invalid(`${place}.url must be data:TYPE;base64,… or, with a mediaType, an http or https address`)
  }
  return media
}

const NOT_OWN = 'The calls of this chat are decided in the inbox, not by the caller that asked'

const invalid = (detail: string): HttpProblem => new HttpProblem(400, 'The request is not valid', detail)

/** The endpoint of `useChat` and other clients of the AI SDK's UI message stream. */
export function aiSdkRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { approvals, durableRuns } = installation
  const conversations = new Conversations(installation)
  durableRuns.onChat = (...continued) => conversations.continued(...continued)
  // Without a key, nothing tells the user from a program that calls tools.
  const mayDecide = (caller: Caller) => (tool: string) =>
    caller !== LOCAL_CALLER && approvals.mayDecideOwn(tool, caller)
  const describe = (request: FastifyRequest) => (error: unknown) =>
    problemOf(installation, chatProblem(error), request).message

  /** Decides the calls of a run, and streams its answer when it has ended or waits again. */
  const goOn = async (request: FastifyRequest, reply: FastifyReply, { runId, decisions, calls }: Decided) => {
    const { caller } = request
    const run = await durableRuns.get(caller.tenant, runId)
    if (run?.caller !== caller.id) throw new HttpProblem(404, `Run '${runId}' not found`)
    for (const { id, approved, reason } of decisions) {
      const approval = await approvals.get(caller.tenant, id, caller)
      if (approval?.run_id !== runId) throw new HttpProblem(404, `Approval '${id}' not found`)
      if (!mayDecide(caller)(approval.tool)) throw new HttpProblem(403, NOT_OWN)
      const decision = approved ? 'approve' : 'reject'
      await approvals.decide(caller.tenant, id, { decision, reason }, caller, caller).catch((error: unknown) => {
        if (!(error instanceof OperationError)) throw error
        // A repeated request gets the answer.
        if (error.code !== 'conflict' || approval.status === 'pending') throw error
      })
    }
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const isPending = async ({ approvals: asked = [] }: RunAnswer) => {
      const known = await Promise.all(asked.map(({ id }) => approvals.get(caller.tenant, id)))
      return known.some((approval) => approval?.status === 'pending')
    }
    const continued = async function* (): RunEvents {
      const answer = await durableRuns.settled(run, isPending, left.signal)
      if (answer !== undefined) yield { type: 'answer', answer, messages: [] }
    }
    reply.header('x-vercel-ai-ui-message-stream', 'v1')
    return streamRun(app, reply, continued(), (stream) => {
      const options = { runId, store: async () => {}, describe: describe(request), mayDecide: mayDecide(caller) }
      const writer = new UiMessageStream(stream, options)
      return {
        write: async (event) => void (event.type === 'answer' && (await writer.resume(event.answer, calls))),
        fail: (error) => writer.fail(error),
      }
    })
  }

  app.post<{ Body: Body }>(
    '/api/ai-sdk/chat',
    route('chat', 'chat', 'Answers the last message of a chat as an AI SDK UI message stream', { body: BODY }),
    async (request, reply) => {
      const { id, messages, model, profile } = request.body
      const decided = readDecisions(messages)
      if (decided !== undefined) return goOn(request, reply, decided)
      const { messageId, message } = readQuestion(messages)
      const { history, store, end } = await conversations.begin(request.caller, id, messageId)
      const asked = {
        message,
        previous_messages: history,
        ...(profile !== undefined && { profile }),
        ...(model !== undefined && { model, max_tokens: null }),
      }
      reply.header('x-vercel-ai-ui-message-stream', 'v1')
      try {
        return await answerChat(app, request, reply, asked, {
          session: id,
          chat: { chat: id, messageId },
          writer: (runId) => (stream) =>
            new UiMessageStream(stream, {
              ...{ runId, describe: describe(request), mayDecide: mayDecide(request.caller) },
              store: (messages) => store(messages, runId),
            }),
        })
      } finally {
        end()
      }
    },
  )
}
