import type { AskableClient } from '../../core/call-context.ts'
import type { HandlerContext } from '../../core/handler.ts'
import type { Params } from '../../core/tool.ts'
import { forwardingOf, type McpServerSettings } from './server-settings.ts'

/** What an MCP server asks a person during a call. */
export interface Question {
  readonly kind: 'elicitation' | 'sampling'
  readonly server: string
  /** The tool that was called, and who called it. */
  readonly tool: string
  readonly tenant: string
  readonly caller: string
  readonly user?: string | undefined
  /** The parameters of the request. */
  readonly request: Params
}

/** `answer`: the fields of an elicitation, or `text` for a sampling request. */
export type Answer = { readonly answer: Params } | { readonly answer?: undefined; readonly expired: boolean }

/** Where people answer questions. */
export interface PersonInbox {
  /** Rejects if the question can't be asked. The signal withdraws it. */
  ask(question: Question, signal: AbortSignal): Promise<Answer>
}

const KINDS: Readonly<Record<string, Question['kind']>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
}

/** Whether people answer some of the requests of a server. */
export function asksPeople(settings: McpServerSettings): boolean {
  const { elicitation, sampling } = forwardingOf(settings)
  return elicitation === 'ask' || sampling === 'ask'
}

/** The client of a call whose server may ask people. Other requests go to the client of the caller, if it has one. */
export function personClient(
  settings: McpServerSettings,
  inbox: PersonInbox | undefined,
  tool: string,
  { client, signal, tenant, rights, whileAsking }: HandlerContext,
): AskableClient {
  const { caller = '', user, stores = true } = rights ?? {}
  const forwarding = forwardingOf(settings)
  return {
    capabilities: {},
    caller,
    ...client,
    // Without a client, one for each caller: a connection may know what it was told.
    id: client?.id ?? JSON.stringify(['people', tenant, caller]),
    async ask(request) {
      const kind = KINDS[request.method]
      if (kind === undefined || forwarding[kind] !== 'ask') {
        if (client !== undefined) return client.ask(request)
        throw new Error('There is no client to ask')
      }
      if (inbox === undefined || !stores) throw new Error('Nobody can be asked')
      const signals = request.signal === undefined ? signal : AbortSignal.any([signal, request.signal])
      const question = { kind, server: settings.name, tool, tenant, caller, user, request: request.params }
      const asked = inbox.ask(question, signals)
      return response(kind, await (whileAsking === undefined ? asked : whileAsking(asked)))
    },
  }
}

function response(kind: Question['kind'], given: Answer): unknown {
  if (kind === 'elicitation') {
    if (given.answer !== undefined) return { action: 'accept', content: given.answer }
    return { action: given.expired ? 'cancel' : 'decline' }
  }
  if (given.answer !== undefined) {
    const { text = '' } = given.answer
    const content = { type: 'text', text: String(text) }
    return { role: 'assistant', content, model: 'person', stopReason: 'endTurn' }
  }
  // The code that MCP has for it.
  throw Object.assign(new Error(given.expired ? 'Nobody answered in time' : 'User rejected sampling request'), {
    code: -1,
  })
}
