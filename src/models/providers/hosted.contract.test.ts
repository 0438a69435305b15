import { afterAll, beforeAll, describe, test } from 'vitest'
import { modelContract } from '../../testing/model-contract.ts'
import { startAimock } from '../fixtures/aimock-server.ts'
import type { RecordingProxy } from '../fixtures/recording-proxy.ts'
import { wireModel } from '../fixtures/wire-model.ts'
import type { ProviderSettings, WireMaker } from '../provider.ts'
import { anthropicWire, geminiWire, openaiWire } from './hosted.ts'

const wires: [string, WireMaker, string, Partial<ProviderSettings>, (body: never) => string[]][] = [
  [
    'OpenAI responses',
    openaiWire,
    '/v1',
    { api: 'responses' },
    ({ tools = [] }: { tools?: { name: string }[] }) => tools.map(({ name }) => name),
  ],
  [
    'OpenAI chat',
    openaiWire,
    '/v1',
    { api: 'chat' },
    ({ tools = [] }: { tools?: { function: { name: string } }[] }) => tools.map((tool) => tool.function.name),
  ],
  [
    'Anthropic',
    anthropicWire,
    '/v1',
    {},
    ({ tools = [] }: { tools?: { name: string }[] }) => tools.map(({ name }) => name),
  ],
  [
    'Gemini',
    geminiWire,
    '/v1beta',
    {},
    ({ tools = [] }: { tools?: { functionDeclarations: { name: string }[] }[] }) =>
      tools.flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name)),
  ],
]

describe.each(wires)('the wire of %s', (_name, make, path, settings, offered) => {
  let server: RecordingProxy
  beforeAll(async () => {
    server = await startAimock()
  })
  afterAll(() => server.stop())

  const contract = modelContract({
    make: () => wireModel(make, { base_url: server.url + path, ...settings }),
    offered: () => offered(server.requests.at(-1)?.body as never),
    brokenOff: () => server.brokenOff(),
  })
  test.each(contract)('$name', ({ run }) => run())
})
