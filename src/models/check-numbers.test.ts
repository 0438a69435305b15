import { expect, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import { scripted, wordEmbedder } from '../testing/stand-ins.ts'
import { ModelCatalogue } from './model-catalogue.ts'
import { openProvider } from './providers/open-provider.ts'
import { generateChat } from './providers/provider-client.ts'

test.each([
  [{ input: Number.NaN, output: 1 }, 'prices.input must be a number of 0 or more, not NaN'],
  [{ input: 1, output: -1 }, 'prices.output must be a number of 0 or more, not -1'],
  [{ input: 1, output: 1, cached_input: '1' }, 'prices.cached_input must be a number of 0 or more, not "1"'],
  [{ input: 1, output: 1, cached_inputs: 1 }, 'prices: unknown option "cached_inputs". Did you mean "cached_input"?'],
])('a catalogue refuses the prices %j', (prices, message) => {
  const model = { id: 'p:m', name: 'm', capabilities: [], prices: prices as never }
  expect(() => new ModelCatalogue([], [model])).toThrow(`models p:m: ${message}`)
})

test.each([Number.NaN, 0, -1, '5'])('a provider refuses a timeout and attempts of %s', async (number) => {
  const settings = { type: 'ollama', base_url: 'http://127.0.0.1:9' }
  await expect(openProvider({ ...settings, timeout_ms: number as number })).rejects.toThrow(
    'providers.ollama: timeout_ms must be a number above 0, not ',
  )
  await expect(openProvider(settings, { log: silentLog, attempts: number as number })).rejects.toThrow(
    'providers.ollama: attempts must be an integer of 1 or more, not ',
  )
})

test('generateChat refuses wrong numbers before the model is asked', async () => {
  const model = scripted('Hi')
  const chat = (options: object) => generateChat(model, [], options)
  await expect(chat({ max_tokens: Number.NaN })).rejects.toThrow('generateChat: max_tokens must be an integer')
  await expect(chat({ temperature: '1' })).rejects.toThrow('generateChat: temperature must be a number from 0 to 2')
  expect(model.requests).toEqual([])
})

test('the models and embedders for tests refuse wrong numbers', async () => {
  const late = Array.fromAsync(scripted({ delayMs: Number.NaN }).stream({ messages: [], tools: [] }))
  await expect(late).rejects.toThrow('scripted: delayMs must be a number of 0 or more, not NaN')
  for (const name of ['dimensions', 'batch', 'maxCharacters']) {
    expect(() => wordEmbedder({ [name]: 1.5 })).toThrow(`wordEmbedder: ${name} must be an integer of 1 or more`)
  }
})
