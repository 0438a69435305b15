import { type Config, type Handler, ToolHandlers } from 'toolyard'
import { onTestFinished } from 'vitest'
import { openaiChatFrames } from '../src/models/fixtures/wire-frames.ts'
import { startWireServer, streamed } from '../src/models/fixtures/wire-server.ts'
import { openTestServer, type TestServerOptions } from '../src/server/fixtures/open-server.ts'

/** A definition whose handler the scenario brings. */
export const tool = (name: string, more: object = {}) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object' },
  implementation: { type: 'internal', handler: name },
  ...more,
})

interface Yard extends Omit<TestServerOptions, 'handlers'> {
  readonly handlers?: Readonly<Record<string, Handler>>
}

/** A real server with these tools; it is closed when the test is over. */
export async function serverYard(
  registry: readonly object[],
  config: Config = {},
  { handlers, ...options }: Yard = {},
) {
  const table = new ToolHandlers()
  for (const [name, run] of Object.entries(handlers ?? {})) table.register(name, run)
  const server = await openTestServer(
    { tools: { enabled: true, registry }, ...config },
    { ...options, handlers: table },
  )
  onTestFinished(() => server.close())
  const key = options.local ? undefined : await server.key('acme')
  const headersOf = (used: string | undefined) => (used === undefined ? {} : { authorization: `Bearer ${used}` })

  /** Asks the server, with a key of tenant `acme` unless another is named. */
  const ask = async (path: string, init: RequestInit & { key?: string | null } = {}) => {
    const { key: used = key, headers, ...rest } = init
    const sent = { ...headersOf(used ?? undefined), ...(headers as Record<string, string>) }
    const response = await fetch(`${server.url}${path}`, { ...rest, headers: sent })
    const text = await response.text()
    const type = response.headers.get('content-type') ?? ''
    return {
      status: response.status,
      headers: response.headers,
      type,
      text,
      body: type.includes('json') ? JSON.parse(text) : text,
    }
  }
  const post = (path: string, body: unknown, init: Parameters<typeof ask>[1] = {}) =>
    ask(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
      headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
    })
  const execute = (tool_name: string, params: unknown = {}, init: Parameters<typeof ask>[1] = {}) =>
    post('/tools/execute', { tool_name, params }, init)
  return { ...server, ask, post, execute }
}

/** A model behind a real wire: it says what it is told to, and writes down what it was asked. */
export async function openaiModel(...answers: readonly (string | { readonly call: string; readonly args: object })[]) {
  const server = await startWireServer()
  onTestFinished(() => server.stop())
  const { start, text, openCall, closeCall, finish } = openaiChatFrames
  server.replies = answers.map((answer) => {
    if (typeof answer === 'string') return streamed([...start, ...text(answer), ...finish('stop')])
    const args = JSON.stringify(answer.args)
    return streamed([...start, ...openCall(answer.call, args), ...closeCall(answer.call, args), ...finish('stop')])
  })
  return {
    requests: server.requests,
    /** What the model was told, as text. */
    told: () => JSON.stringify(server.requests.at(-1)?.body ?? null),
    config: {
      providers: { openai: { api_key: 'sk-test', base_url: `${server.url}/v1` } },
      models: [{ id: 'openai:gpt-4o', name: 'GPT-4o', capabilities: ['function-calling'] }],
    },
  }
}

/** The events of a stream, in order. */
export const eventsOf = (text: string): { event: string; data: unknown }[] =>
  text
    .split('\n\n')
    .filter((block) => /^event: /m.test(block))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1] ?? '',
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null'),
    }))
