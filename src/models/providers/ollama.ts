import type { ChatRequest, Ollama } from 'ollama'
import { ModelError } from '../model-error.ts'
import type { ListedModel, ProviderSettings, ProviderSurroundings, Wire, WireMaker, WireRequest } from '../provider.ts'
import { toQwenForm } from '../qwen-form.ts'
import { ollamaAnswer } from './ollama-answer.ts'
import { ollamaFetch } from './ollama-fetch.ts'
import { ollamaMessages } from './ollama-messages.ts'

const DEFAULT_URL = 'http://127.0.0.1:11434'

/** The wire to an Ollama server, through its own client. */
export const ollamaWire: WireMaker = async (settings, around) => {
  const connect = await connector(settings, around)

  return {
    dialect: 'ollama',
    printsCalls: true,
    async *stream(model, request) {
      const { signal } = request
      signal?.throwIfAborted()
      const client = connect(model, signal)
      const tools = toQwenForm(request.tools, around.log)
      const answer = await client
        .chat({ ...chatRequest(model, request), ...(tools.length > 0 && { tools: tools as ToolList }), stream: true })
        .catch(async (error: unknown) => {
          throw tools.length > 0 && (await lacksTools(client, model, error)) ? noTools(model) : error
        })
      try {
        yield* ollamaAnswer(answer)
      } finally {
        // Whoever stops listening early must not leave the model working.
        answer.abort()
      }
    },
    async list(signal) {
      signal.throwIfAborted()
      const client = connect(undefined, signal)
      const { models } = await client.list()
      return Promise.all(models.map((entry) => listed(client, entry)))
    },
  } satisfies Wire
}

/** The client's types know only part of JSON Schema. */
type ToolList = NonNullable<ChatRequest['tools']>
type Connect = (model: string | undefined, signal: AbortSignal | undefined) => Ollama

/** A client per question: it keeps what was aborted for as long as it lives. */
async function connector(settings: ProviderSettings, { clock }: ProviderSurroundings): Promise<Connect> {
  const { Ollama } = await import('ollama')
  const { name: provider, base_url: host = DEFAULT_URL, api_key, headers: more } = settings
  if (!URL.canParse(host)) {
    throw new ModelError(`providers.${provider}.base_url is not a URL. Write it like ${DEFAULT_URL}`)
  }
  const headers = { ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }), ...more }
  const secrets = [...(api_key !== undefined ? [api_key] : []), ...Object.values(headers)]
  return (model, signal) =>
    new Ollama({ host, headers, fetch: ollamaFetch({ provider, model, clock, secrets }, signal) })
}

function chatRequest(model: string, request: WireRequest): ChatRequest {
  const { messages, max_tokens, temperature, response_schema: format } = request
  const options = {
    ...(max_tokens !== undefined && { num_predict: max_tokens }),
    ...(temperature !== undefined && { temperature }),
  }
  return { model, messages: ollamaMessages(messages), options, ...(format !== undefined && { format }) }
}

const noTools = (model: string): ModelError =>
  new ModelError(
    `Model '${model}' does not support tools. Offer it none, or take one for which "ollama show" lists tools.`,
    { status: 400 },
  )

/** Ollama refuses tools with the same 400 as anything else; what the model can do tells the two apart. */
async function lacksTools(client: Ollama, model: string, error: unknown): Promise<boolean> {
  if (!(error instanceof ModelError) || error.status !== 400) return false
  const capabilities = await capabilitiesOf(client, model)
  return capabilities !== undefined && !capabilities.includes('function-calling')
}

async function listed(client: Ollama, entry: { readonly name: string }): Promise<ListedModel> {
  const named: unknown = Reflect.get(entry, 'capabilities')
  const capabilities = Array.isArray(named) ? ourNames(named) : await capabilitiesOf(client, entry.name)
  return { name: entry.name, ...(capabilities !== undefined && { capabilities }) }
}

/** Undefined where the server does not say. */
async function capabilitiesOf(client: Ollama, model: string): Promise<string[] | undefined> {
  try {
    const { capabilities } = await client.show({ model })
    return Array.isArray(capabilities) ? ourNames(capabilities) : undefined
  } catch (error) {
    if (error instanceof ModelError) return undefined
    throw error
  }
}

const ourNames = (capabilities: readonly string[]): string[] =>
  capabilities.map((one) => (one === 'tools' ? 'function-calling' : one))
