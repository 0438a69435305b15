import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { Ollama } from 'ollama'
import type { WireTool } from '../../src/models/provider.ts'
import { SUBSETS } from './documented-subsets.ts'

export type WireName = keyof typeof SUBSETS

const ANSWERS: Readonly<Record<WireName, object>> = {
  'openai responses': {
    id: 'r',
    created_at: 0,
    model: 'm',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  'openai chat': {
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  },
  anthropic: {
    type: 'message',
    id: 'm',
    model: 'm',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] },
  ollama: { model: 'm', message: { role: 'assistant', content: 'ok' }, done: true },
}

/** A server that checks each body as its provider would; what it recorded is in `faults` and `tools`. */
export class WireServer {
  readonly faults: string[] = []
  /** How many tools came over the wire. */
  readonly tools = new Map<WireName, number>()
  readonly #server = createServer(async (request, response) => {
    const wire = decodeURIComponent((request.url ?? '').split('/')[1] ?? '') as WireName
    const body = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString())
    const listed = wire === 'gemini' ? body.tools[0].functionDeclarations : body.tools
    this.tools.set(wire, (this.tools.get(wire) ?? 0) + listed.length)
    this.faults.push(...SUBSETS[wire](body))
    response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWERS[wire]))
  })

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Sends the tools as the provider's own package does. */
  async send(wire: WireName, tools: readonly WireTool[]): Promise<void> {
    const { port } = this.#server.address() as AddressInfo
    const at = `http://127.0.0.1:${port}/${encodeURIComponent(wire)}`
    if (wire === 'ollama') {
      const offered = tools.map(({ strict, ...tool }) => ({ type: 'function', function: tool }))
      await new Ollama({ host: at }).chat({ model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: offered })
      return
    }
    await model(wire, at).doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      tools: tools.map(({ name, description, parameters, strict }) => ({
        type: 'function',
        name,
        description,
        inputSchema: parameters,
        ...(strict !== undefined && { strict }),
      })),
    })
  }
}

function model(wire: Exclude<WireName, 'ollama'>, baseURL: string): LanguageModelV4 {
  const settings = { baseURL, apiKey: 'none' }
  switch (wire) {
    case 'openai responses':
      return createOpenAI(settings).responses('m')
    case 'openai chat':
      return createOpenAI(settings).chat('m')
    case 'anthropic':
      return createAnthropic(settings)('claude-sonnet-4-5')
    case 'gemini':
      return createGoogleGenerativeAI(settings)('gemini-2.5-flash')
  }
}
