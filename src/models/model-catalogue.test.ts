import { describe, expect, test } from 'vitest'
import { ManualClock } from '../testing/stand-ins.ts'
import type { Model } from './model.ts'
import { type CatalogueProvider, disabledProvider, ModelCatalogue } from './model-catalogue.ts'
import { ModelError, UnknownModelError } from './model-error.ts'
import type { ListedModel } from './provider.ts'

const model = (id: string): Model => ({ id, stream: async function* () {} })

const provider = (name: string, list?: CatalogueProvider['list']): CatalogueProvider => ({
  name,
  model: (one) => model(`${name}:${one}`),
  ...(list && { list }),
})

const gpt = {
  id: 'openai:gpt-4o',
  name: 'GPT-4o',
  capabilities: ['function-calling'],
  prices: { input: 2.5, output: 10 },
}

describe('ModelCatalogue', () => {
  const catalogue = new ModelCatalogue([provider('openai'), provider('ollama')], [gpt])

  test('finds a model by its id, which is split at the first colon', () => {
    expect(catalogue.get('ollama:llama3.2:3b').id).toBe('ollama:llama3.2:3b')
  })

  test('a model need not be configured, the provider must', () => {
    expect(catalogue.get('openai:new').id).toBe('openai:new')
    expect(() => catalogue.get('mistral:small')).toThrow(ModelError)
    expect(() => catalogue.get('mistral:small')).toThrow('Provider mistral not found (known: openai, ollama)')
    expect(() => catalogue.get('toString:x')).toThrow(UnknownModelError)
  })

  test.each([
    ['opnai:x', 'Provider opnai not found (known: openai, ollama). Did you mean openai?'],
    [
      'antropic:x',
      'Provider antropic not found (known: openai, ollama). Did you mean anthropic? Then add a model of anthropic to models in the configuration',
    ],
    [
      'gemini:x',
      'Provider gemini not found (known: openai, ollama): add a model of gemini to models in the configuration',
    ],
    [
      'office:x',
      'Provider office not found (known: openai, ollama). anthropic, gemini, google need no entry: add a model of one of them to models in the configuration',
    ],
  ])('says what to do about the provider of %s', (id, message) => {
    expect(() => catalogue.get(id)).toThrow(new UnknownModelError(message))
  })

  test('a caller with patterns gets models that match one, and that are offered', () => {
    const offered = new ModelCatalogue([provider('openai')], [gpt], undefined, (id) => id === gpt.id)
    expect(offered.get(gpt.id, ['mini:*', 'openai:*']).id).toBe(gpt.id)
    expect(() => offered.get(gpt.id, ['openai:gpt-4'])).toThrow(
      "Model 'openai:gpt-4o' is not one of the models of this API key: openai:gpt-4",
    )
    expect(() => offered.get('openai:new', ['*'])).toThrow(
      "Model 'openai:new' is not configured: add it to models, or set providers.openai.any_model to true",
    )
    expect(offered.get('openai:new').id).toBe('openai:new')
    expect([offered.list(['openai:*']), offered.list(['mini:*'])]).toEqual([[gpt], []])
  })

  test.each(['gpt-4o', ':gpt-4o', 'openai:', ''])('an id without two parts is refused: %j', (id) => {
    expect(() => catalogue.get(id)).toThrow(UnknownModelError)
    expect(() => catalogue.get(id)).toThrow('write it as provider:model, such as openai:gpt-4o')
  })

  test('knows what the configuration says, and little of a model that it does not name', () => {
    expect(catalogue.info('openai:gpt-4o')).toEqual(gpt)
    expect(catalogue.info('ollama:llama3.2:3b')).toEqual({
      id: 'ollama:llama3.2:3b',
      name: 'llama3.2:3b',
      capabilities: [],
    })
    expect(() => catalogue.info('mistral:small')).toThrow(UnknownModelError)
  })

  test('lists the configured models', () => {
    expect(catalogue.list()).toEqual([gpt])
  })
})

describe('what a provider really has', () => {
  function counted(answer: () => Promise<ListedModel[]>) {
    const clock = new ManualClock()
    const signals: AbortSignal[] = []
    const list = (signal: AbortSignal) => {
      signals.push(signal)
      return answer()
    }
    return { clock, signals, catalogue: new ModelCatalogue([provider('openai', list), provider('own')], [gpt], clock) }
  }

  test('is asked for by one request for all, and again after a minute', async () => {
    const { clock, signals, catalogue } = counted(async () => [{ name: 'gpt-4o' }])
    await Promise.all([catalogue.discover('openai'), catalogue.discover('openai')])
    clock.advance(59_999)
    await catalogue.discover('openai')
    expect(signals).toHaveLength(1)
    clock.advance(1)
    await catalogue.discover('openai')
    expect(signals).toHaveLength(2)
    expect(clock.pending).toBe(0)
  })

  test('is told with what the configuration says of it, and is known from then on', async () => {
    const { catalogue } = counted(async () => [{ name: 'gpt-4o' }, { name: 'o9', capabilities: ['function-calling'] }])
    const o9 = { id: 'openai:o9', name: 'o9', capabilities: ['function-calling'] }
    expect(catalogue.info('openai:o9').capabilities).toEqual([])
    expect(await catalogue.discover('openai')).toEqual([gpt, o9])
    expect(catalogue.info('openai:o9')).toEqual(o9)
  })

  test('a failure reaches everybody, and is forgotten after five seconds', async () => {
    let fails = true
    const { clock, signals, catalogue } = counted(async () => {
      if (fails) throw new ModelError('Provider openai is not there')
      return []
    })
    const both = [catalogue.discover('openai'), catalogue.discover('openai')]
    for (const one of both) await expect(one).rejects.toThrow('Provider openai is not there')
    fails = false
    await expect(catalogue.discover('openai')).rejects.toThrow('Provider openai is not there')
    expect(signals).toHaveLength(1)
    clock.advance(5_000)
    expect(await catalogue.discover('openai')).toEqual([])
  })

  test('any other failure is said without what may hold an address', async () => {
    const { catalogue } = counted(() => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:443')))
    const error = await catalogue.discover('openai').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ message: 'Provider openai could not list its models' })
  })

  test('a provider that does not answer is let go after ten seconds', async () => {
    const { clock, signals, catalogue } = counted(() => new Promise(() => {}))
    const listing = catalogue.discover('openai')
    clock.advance(10_000)
    await expect(listing).rejects.toThrow('Provider openai did not list its models within 10000ms')
    expect(signals[0]?.aborted).toBe(true)
  })

  test('uses the configured models of a provider that cannot list its own', async () => {
    const { catalogue } = counted(async () => [])
    expect(await catalogue.discover('own')).toEqual([])
    expect(await new ModelCatalogue([provider('openai')], [gpt]).discover('openai')).toEqual([gpt])
    await expect(catalogue.discover('mistral')).rejects.toThrow('Provider mistral not found')
  })
})

describe('availability', () => {
  test('is known from the last list, and only local providers are asked for it', async () => {
    const clock = new ManualClock()
    let fails = true
    let asked = 0
    const list = async () => {
      asked++
      if (fails) throw new ModelError('It is not running.')
      return []
    }
    const catalogue = new ModelCatalogue([{ ...provider('near', list), local: true }, provider('far', list)], [], clock)
    expect([catalogue.availability('near:m'), asked]).toEqual([{}, 0])
    void catalogue.checkLocal()
    await expect(catalogue.discover('near')).rejects.toThrow('It is not running.')
    expect(catalogue.availability('near:m')).toEqual({ available: false, reason: 'It is not running.' })
    expect([catalogue.availability('far:m'), asked]).toEqual([{}, 1])
    fails = false
    clock.advance(5_000)
    await catalogue.discover('near')
    expect(catalogue.availability('near:m')).toEqual({})
  })
})

describe('requireKnown', () => {
  const list = async () => [{ name: 'llama3.2:latest' }]
  const catalogue = new ModelCatalogue([provider('ollama', list), disabledProvider('openai', 'It lacks a key.')], [gpt])
  const known = (id: string, only = ['*']) => catalogue.requireKnown(id, only)

  test('accepts configured models and those that the provider lists', async () => {
    for (const id of [gpt.id, 'ollama:llama3.2', 'ollama:llama3.2:latest']) await known(id)
  })

  test.each([
    ['ollama:llama3', "Provider ollama has no model 'llama3'"],
    ['openai:other', 'It lacks a key.'],
    ['nowhere:m', 'Provider nowhere not found'],
    ['mini', 'names no provider'],
  ])('refuses %s', async (id, problem) => {
    await expect(known(id)).rejects.toThrow(UnknownModelError)
    await expect(known(id)).rejects.toThrow(problem)
    await expect(known(gpt.id, ['mini:*'])).rejects.toThrow('is not one of the models')
  })
})

describe('disabledProvider', () => {
  const catalogue = new ModelCatalogue([disabledProvider('openai', 'It lacks a key.')])

  test('its models are there, and answer with the sentence', async () => {
    const one = catalogue.get('openai:gpt-4o')
    expect(one.id).toBe('openai:gpt-4o')
    await expect(one.stream({ messages: [], tools: [] })[Symbol.asyncIterator]().next()).rejects.toThrow(
      new ModelError('It lacks a key.', { status: 503 }),
    )
    await expect(catalogue.discover('openai')).rejects.toThrow('It lacks a key.')
  })
})
