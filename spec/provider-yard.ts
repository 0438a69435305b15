import { type Config, type Message, openProvider, type ProviderClient, ToolManager } from 'toolyard'
import { captureLog, modelScript, scriptedTools } from 'toolyard/testing'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { startAimock } from '../src/models/fixtures/aimock-server.ts'
import { startOllamaServer } from '../src/models/fixtures/ollama-server.ts'
import { frame, geminiFrames } from '../src/models/fixtures/wire-frames.ts'
import { startWireServer, streamed } from '../src/models/fixtures/wire-server.ts'
import { yard } from './yard.ts'

/** The catalogue of a configuration, the settings its providers were made from, and what was said of them. */
export async function configuredCatalogue(config: Config, env: Readonly<Record<string, string>> = {}) {
  const log = captureLog()
  const manager = new ToolManager(config, { log, env })
  onTestFinished(() => manager.close())
  return { catalogue: await manager.getModels(), log }
}

/** The server behind `clientOf`. */
export let aimock: Awaited<ReturnType<typeof startAimock>>

/** Starts it for the tests of a file, and ends it with them. */
export function useAimock(): void {
  beforeAll(async () => {
    aimock = await startAimock()
  })
  afterAll(() => aimock.stop())
}

export const PROVIDERS = ['openai', 'anthropic', 'gemini', 'ollama'] as const
/** Holds for each of them. */
export const onAll = async (check: (type: (typeof PROVIDERS)[number]) => Promise<void>): Promise<void> => {
  for (const type of PROVIDERS) await check(type)
}
const PATHS = { openai: '/v1', anthropic: '/v1', gemini: '/v1beta', ollama: '' }

/** A client whose provider is a server that answers as `modelScript` says. */
export const clientOf = (type: (typeof PROVIDERS)[number], more: object = {}): Promise<ProviderClient> =>
  openProvider({ type, api_key: 'test-key', base_url: `${aimock.url}${PATHS[type]}`, ...more })

export const asks = ({ asked }: { readonly asked: string }): Message[] => [{ role: 'user', content: asked }]

/** What a server was asked last. */
export const sent = <Body>({ requests }: { readonly requests: readonly { readonly body: unknown }[] }): Body =>
  requests.at(-1)?.body as Body

export async function wireServer() {
  const server = await startWireServer()
  onTestFinished(() => server.stop())
  return server
}

export async function ollamaAnswering(parts: readonly object[]): Promise<ProviderClient> {
  const server = await startOllamaServer(() => ({ parts }))
  onTestFinished(() => server.stop())
  return openProvider({ type: 'ollama', base_url: server.url })
}
export const ended = (done_reason: string) => ({ message: { role: 'assistant', content: '' }, done: true, done_reason })

/** A Gemini that gives this first, and then says that it is noon. */
export async function geminiAnswering(candidates: readonly object[]) {
  const server = await wireServer()
  const { text, finish } = geminiFrames
  server.replies = [streamed([frame({ candidates })]), streamed([...text('Noon.'), ...finish('stop')])]
  return { client: await openProvider({ type: 'gemini', api_key: 'k', base_url: server.url }), server }
}

export async function geminiFinish(finishReason: string) {
  const { client } = await geminiAnswering([{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason }])
  return (await client.generateChat(asks(modelScript.text), 'm')).finish_reason
}

/** One run with tools that answer. */
export async function loopOver(client: ProviderClient, asked: string = modelScript.bare.asked) {
  const tools = scriptedTools.map(({ name, parameters }) => [name, { run: async () => 'noon', parameters }])
  const { manager, records } = await yard(Object.fromEntries(tools))
  const answer = await manager.getLoop().answer({ model: client.model('m'), messages: asks({ asked }) })
  return { answer, records }
}
