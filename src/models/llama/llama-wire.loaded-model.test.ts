import { expect, test } from 'vitest'
import { readStream } from '../../testing/model-contract.ts'
import { askLoaded, type LoadedModel } from './llama-wire.ts'
import { schemaGrammar, toolGrammar } from './schema-grammar.ts'

const schema = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] }
const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }

/** A model in memory whose engine says always the same, and what grammars it was given. */
function loadedModel(grammar: boolean, says: string) {
  const given: (string | undefined)[] = []
  class LlamaGrammar {
    readonly text: string
    constructor(_: unknown, { grammar: text }: { grammar: string }) {
      this.text = text
    }
  }
  const chat = {
    chatWrapper: { generateContextState: () => ({ contextText: { tokenize: () => [1, 2, 3] } }) },
    async generateResponse(_: unknown, options: { grammar?: LlamaGrammar; onTextChunk: (text: string) => void }) {
      given.push(options.grammar?.text)
      options.onTextChunk(says)
      return { metadata: { stopReason: 'eogToken' } }
    },
  }
  const loaded = {
    id: 'llama:it',
    engine: { LlamaGrammar },
    llama: {},
    model: { tokenizer: {} },
    context: { contextSize: 100 },
    sequence: { tokenMeter: { getState: () => ({ usedOutputTokens: 1 }) } },
    chat,
    grammar,
    idle: Promise.resolve(),
  } as unknown as LoadedModel
  return { given, model: { id: loaded.id, stream: (request: never) => askLoaded(loaded, request) } }
}

const request = { messages: [{ role: 'user' as const, content: 'Where?' }], tools: [] }

test('an answer is held to the schema that is asked for, by its grammar', async () => {
  const { model, given } = loadedModel(true, '{"town":"Oslo"}')
  const { text, finish } = await readStream(model, { ...request, response_schema: schema })
  expect([text, finish.reason, given]).toEqual(['{"town":"Oslo"}', 'stop', [schemaGrammar(schema)]])
})

test('offered tools come first: a reply is one call, or an answer in words', async () => {
  const { model, given } = loadedModel(true, '{"answer": "Oslo"}')
  await readStream(model, { ...request, tools: [tool], response_schema: schema })
  expect(given).toEqual([toolGrammar([tool])])
})

test('nothing is held where grammars are turned off, or nothing is asked for', async () => {
  const off = loadedModel(false, 'Oslo')
  await readStream(off.model, { ...request, response_schema: schema })
  const on = loadedModel(true, 'Oslo')
  await readStream(on.model, request)
  expect([...off.given, ...on.given]).toEqual([undefined, undefined])
})
