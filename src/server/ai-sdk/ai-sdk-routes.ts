import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Profile } from '../../chat/response-rules.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { mediaFromUrl } from '../../core/tool-result.ts'
import { mediaIn, textIn } from '../../models/content.ts'
import type { Content, Part } from '../../models/model.ts'
import { answerChat, chatProblem, MAX_TEXT_LENGTH, PROFILE } from '../chat/chat-routes.ts'
import { HttpProblem, problemOf } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { Conversations } from './conversations.ts'
import { UiMessageStream } from './ui-message-stream.ts'

const MAX_ID_LENGTH = 200
const MAX_PARTS = 100

const ID = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH } as const

/** The body that `DefaultChatTransport` sends, with `model` and `profile` of its option `body`. */
const BODY = {
  type: 'object',
  required: ['id', 'messages'],
  additionalProperties: false,
  properties: {
    id: { ...ID, description: 'The id of the chat. The server has the conversation, for this caller only.' },
    messages: {
      type: 'array',
      minItems: 1,
      description: 'UI messages. The last one is the question; the server ignores the others.',
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

const invalid = (detail: string): HttpProblem => new HttpProblem(400, 'The request is not valid', detail)

/** The endpoint of `useChat` and other clients of the AI SDK's UI message stream. */
export function aiSdkRoutes(app: FastifyInstance): void {
  const { installation } = app
  const conversations = new Conversations(installation)
  const describe = (request: FastifyRequest) => (error: unknown) =>
    problemOf(installation, chatProblem(error), request).message

  app.post<{ Body: Body }>(
    '/api/ai-sdk/chat',
    route('chat', 'chat', 'Answers the last message of a chat as an AI SDK UI message stream', { body: BODY }),
    async (request, reply) => {
      const { id, messages, model, profile } = request.body
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
          writer: (runId) => (stream) => new UiMessageStream(stream, { runId, store, describe: describe(request) }),
        })
      } finally {
        end()
      }
    },
  )
}
