import { afterAll, beforeAll, describe, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { modelContract } from '../../testing/model-contract.ts'
import { scriptedAnswer } from '../../testing/model-script.ts'
import { startAimock } from '../fixtures/aimock-server.ts'
import { type OllamaBody, type OllamaReply, startOllamaServer } from '../fixtures/ollama-server.ts'
import type { Model } from '../model.ts'
import { ollamaWire } from './ollama.ts'

interface Server {
  readonly url: string
  readonly requests: readonly { readonly body: unknown }[]
  brokenOff(): number
  stop(): Promise<void>
}

const servers: [string, () => Promise<Server>][] = [
  ['aimock', startAimock],
  ['our own server', () => startOllamaServer(({ body }) => replyTo(body))],
]

describe.each(servers)('the wire of Ollama before %s', (_name, start) => {
  let server: Server
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())

  const contract = modelContract({
    async make(): Promise<Model> {
      const settings = { name: 'ollama', type: 'ollama', base_url: server.url }
      const wire = await ollamaWire(settings, { log: silentLog, clock: systemClock })
      return { id: 'ollama:some-model', stream: (request) => wire.stream('some-model', request) }
    },
    offered: () =>
      ((server.requests.at(-1)?.body as OllamaBody | undefined)?.tools ?? []).map((tool) => tool.function.name),
    brokenOff: () => server.brokenOff(),
  })
  test.each(contract)('$name', ({ run }) => run())
})

function replyTo({ messages }: OllamaBody): OllamaReply {
  const asked = messages.findLast(({ role }) => role === 'user')?.content
  const { text = '', calls = [], status, slow } = scriptedAnswer(String(asked), messages.at(-1)?.role === 'tool') ?? {}
  if (status !== undefined) return { status, body: { error: 'It broke down.' } }
  const said = (text.match(/.{1,8}/gs) ?? []).map((content) => ({ role: 'assistant', content }))
  const called = calls.map((call, index) => ({
    role: 'assistant',
    content: '',
    tool_calls: [{ function: { index, ...call } }],
  }))
  return {
    parts: [
      ...[...said, ...called].map((message) => ({ model: 'some-model', message, done: false })),
      {
        model: 'some-model',
        message: { role: 'assistant', content: '' },
        done: true,
        done_reason: 'stop',
        prompt_eval_count: 26,
        eval_count: 9,
      },
    ],
    ...(slow && { pauseMs: 5 }),
  }
}
