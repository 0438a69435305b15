import { readFileSync } from 'node:fs'
import { findPackages } from '@toolyard/mini'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { silentLog } from '../core/log.ts'
import { compileSchema } from '../core/schema/compiled-schema.ts'
import { readStream } from '../testing/model-contract.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { household } from './fixtures/household.ts'
import { miniWire } from './mini-wire.ts'
import type { Message, Model, OfferedTool } from './model.ts'
import { ModelError } from './model-error.ts'

const config = JSON.parse(readFileSync(new URL('../../toolyard.config.json', import.meta.url), 'utf8'))
/** All twelve are tried in test/shipped-config.test.ts. */
const shipped: readonly OfferedTool[] = config.tools.registry.filter((tool: unknown) => typeof tool === 'object')
/** The household switches its own lights. */
const home: readonly OfferedTool[] = [...shipped.filter(({ name }) => name !== 'set_light'), ...household]

// Its scores are recorded (test/setup/recorded-scorer.ts), but for the test of the real model.
const wire = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock })
const model: Model = { id: 'mini:v1', stream: (request) => wire.stream('v1', request) }
afterAll(() => wire.close())

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })
const called = (name: string, params: object): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: JSON.stringify(params) } }],
})

/** The calls as [tool, parameters]; each holds against its schema. */
async function calls(messages: readonly Message[], tools = home, asked = model): Promise<[string, unknown][]> {
  const { calls } = await readStream(asked, { messages, tools })
  return calls.map(({ function: { name, arguments: text } }) => {
    const params = JSON.parse(text)
    const schema = tools.find((tool) => tool.name === name)?.parameters
    expect(schema && compileSchema(schema).check?.(params)).toBe(true)
    return [name, params]
  })
}
const says = async (messages: readonly Message[], tools = home): Promise<string> =>
  (await readStream(model, { messages, tools })).text

describe('mini:v1', () => {
  test('the real model understands what its recorded scores do', async () => {
    vi.stubEnv('TOOLYARD_TEST_MINI', 'real')
    onTestFinished(() => void vi.unstubAllEnvs())
    const real = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock })
    onTestFinished(() => real.close())
    const asked: Model = { id: 'mini:v1', stream: (request) => real.stream('v1', request) }
    const ask = (said: string, tools = home) => calls([user(said)], tools, asked)
    expect(await ask("What's the weather in Paris?", shipped)).toEqual([['get_weather', { location: 'Paris' }]])
    const light = { device_name: 'porch light', command: 'on' }
    expect(await ask('turn on the porch light')).toEqual([['control_zwave_device', light]])
    if (process.env.TOOLYARD_TEST_FULL !== '1') return
    expect(await ask('Calculate 15% tip on $45', shipped)).toEqual([['calculate', { expression: '45 * 0.15' }]])
    expect(await ask('reverse hello', shipped)).toEqual([['string', { operation: 'reverse', text: 'hello' }]])
    expect(await ask('set the volume to fifty percent')).toEqual([['set_volume', { level: 50 }]])
    expect(await ask('set a timer for two hours')).toEqual([['set_timer', { minutes: 120 }]])
  })

  test("What's 2+2? is answered without a call", async () => {
    expect(await says([user("What's 2+2?")], shipped)).toBe('2 + 2 is 4.')
  })

  test.each<[string, string, object]>([
    ['turn on the porch light', 'control_zwave_device', { device_name: 'porch light', command: 'on' }],
    ['switch off the hall light', 'control_zwave_device', { device_name: 'hall light', command: 'off' }],
    ['set the volume to fifty percent', 'set_volume', { level: 50 }],
    ['set a timer for two hours', 'set_timer', { minutes: 120 }],
    [
      "send Anna the message 'I will be late and tired'",
      'send_message',
      { recipient: 'Anna', message: 'I will be late and tired' },
    ],
    [
      'How is the weather in Portland, Oregon in Fahrenheit?',
      'get_weather',
      { location: 'Portland, Oregon', units: 'fahrenheit' },
    ],
  ])('in a household: %s', async (said, tool, params) => {
    expect(await calls([user(said)])).toEqual([[tool, params]])
  })

  test('two requests in one sentence are two calls', async () => {
    expect(await calls([user('turn on the kitchen lamp and set the volume to 30')])).toEqual([
      ['control_zwave_device', { device_name: 'kitchen lamp', command: 'on' }],
      ['set_volume', { level: 30 }],
    ])
  })

  test('two places are two calls', async () => {
    expect(await calls([user("What's the weather in Paris and Rome?")])).toEqual([
      ['get_weather', { location: 'Paris' }],
      ['get_weather', { location: 'Rome' }],
    ])
  })

  test('what is missing is asked for, and the answer understood', async () => {
    const before = [user("what's the weather?")]
    const question = await says(before)
    expect(question).toBe('Which location?')
    expect(await calls([...before, assistant(question), user('in Berlin, please')])).toEqual([
      ['get_weather', { location: 'Berlin' }],
    ])
    expect(await says([...before, assistant(question), user('never mind')])).toBe('All right, nothing was done.')
    expect(await calls([...before, assistant(question), user('turn on the porch light')])).toMatchObject([
      ['control_zwave_device', {}],
    ])
  })

  test('a correction changes the last call, whether or not the history holds it', async () => {
    const paris = user("what's the weather in Paris?")
    const made = called('get_weather', { location: 'Paris', units: 'fahrenheit' })
    expect(await calls([paris, made, assistant('Sunny.'), user('no, in Berlin')])).toEqual([
      ['get_weather', { location: 'Berlin', units: 'fahrenheit' }],
    ])
    expect(await calls([paris, assistant('Sunny.'), user('and in Rome?')])).toEqual([
      ['get_weather', { location: 'Rome' }],
    ])
  })

  test('results are told in a sentence', async () => {
    const result: Message = {
      role: 'tool',
      tool_call_id: 'a',
      name: 'get_weather',
      content: '{"success":true,"result":{"temperature":22,"condition":"sunny"}}',
    }
    expect(await says([user('weather?'), called('get_weather', { location: 'Paris' }), result])).toBe(
      "It's 22 °C and sunny in Paris.",
    )
  })

  test('the light that is meant is asked for, and several are switched at once', async () => {
    const before = [user('turn on the light')]
    const question = await says(before, shipped)
    expect(question).toBe('Which light? Porch, hall, kitchen, living room, bedroom or garden.')
    expect(await calls([...before, assistant(question), user('the kitchen one')], shipped)).toEqual([
      ['set_light', { light: 'kitchen', state: 'on' }],
    ])
    expect(await calls([user('turn off the porch and garden lights')], shipped)).toEqual([
      ['set_light', { light: 'porch', state: 'off' }],
      ['set_light', { light: 'garden', state: 'off' }],
    ])
  })

  test('what shall not be done is not done, and thanks are no request', async () => {
    expect(await says([user("don't turn on the kitchen light")], shipped)).toBe('All right, nothing was done.')
    expect(await says([user('what is the weather in Paris'), assistant('Sunny.'), user('thanks!')], shipped)).toBe(
      'You are welcome.',
    )
  })

  test('a few words after a call belong to it, and a request after "and" does not', async () => {
    const before = [user("what's the weather in Paris?"), assistant('Sunny.')]
    expect(await calls([...before, user('in fahrenheit please')], shipped)).toEqual([
      ['get_weather', { location: 'Paris', units: 'fahrenheit' }],
    ])
    expect(await calls([...before, user('and turn on the kitchen light')], shipped)).toEqual([
      ['set_light', { light: 'kitchen', state: 'on' }],
    ])
  })

  test.each(['Write me a poem about the sea', 'who won the world cup', 'delete everything'])(
    'without a matching tool it says what to try: %s',
    async (said) => {
      const { text, calls } = await readStream(model, { messages: [user(said)], tools: home })
      expect(calls).toEqual([])
      expect(text).toMatch(/^I couldn't match that to a tool\. Try: /)
    },
  )

  test.each(['what can you do?', '', '?'])('asked for anything else it says what it is: %s', async (said) => {
    const { text, calls } = await readStream(model, { messages: [user(said)], tools: home })
    expect(calls).toEqual([])
    expect(text).toContain('not a language model')
    expect(text).toContain('get weather')
  })

  test('without tools it says so', async () => {
    expect(await says([user('turn on the lamp')], [])).toContain('No tools are offered')
  })

  test.each([
    ['a megabyte', 'turn on the lamp '.repeat(65_000)],
    ['a megabyte without a space', 'x'.repeat(1_000_000)],
    ['emoji', '🦊🔥 turn on the 🛋️ lamp 👩‍👩‍👧'],
    ['NUL and broken surrogates', 'turn\u0000 on \ud800 the lamp\u0000'],
    ['other scripts', 'パリの天気は？ ما هو الطقس погода'],
    ['marks of the model', '[CLS] [SEP] turn on [MASK] [PAD]'],
    ['brackets', `${'['.repeat(2000)}${'('.repeat(2000)}`],
  ])('%s comes to an end', async (_, said) => {
    const { finish } = await readStream(model, { messages: [user(said)], tools: home })
    expect(['stop', 'tool_calls']).toContain(finish.reason)
  })

  test('thousands of tools come down to a few, and the right one is called', async () => {
    const many = Array.from({ length: 5_000 }, (_, index): OfferedTool => {
      const { description, parameters } = household[1] as OfferedTool
      return { name: `noise_${index}`, description: `${description.slice(0, 4)} thing ${index}`, parameters }
    })
    expect(await calls([user("What's the weather in Paris?")], [...many, ...shipped])).toEqual([
      ['get_weather', { location: 'Paris' }],
    ])
  })

  test('an abort is thrown as it is', async () => {
    const reason = new Error('enough')
    const messages = [user('turn on the porch light')]
    await expect(readStream(model, { messages, tools: home, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const controller = new AbortController()
    const reading = readStream(model, { messages: [user('is it hot in Lima')], tools: home, signal: controller.signal })
    setImmediate(() => controller.abort(reason))
    await expect(reading).rejects.toBe(reason)
  })

  test('max_tokens cuts what is said', async () => {
    const { text, finish } = await readStream(model, { messages: [user("What's 2+2?")], tools: [], max_tokens: 3 })
    expect([text, finish.reason]).toEqual(['2 + 2', 'length'])
  })

  test('v0 in a configuration runs v1, and the log says so once', async () => {
    const log = captureLog()
    const former = await miniWire({ name: 'mini', type: 'mini' }, { log, clock: systemClock })
    onTestFinished(() => former.close())
    const asked: Model = { id: 'mini:v0', stream: (request) => former.stream('v0', request) }
    for (const said of ["What's 2+2?", "What's 3+3?"])
      expect((await readStream(asked, { messages: [user(said)], tools: [] })).text).toMatch(/is [46]\.$/)
    expect(log.lines.map(({ message }) => message)).toEqual(['mini:v0 was replaced: mini:v1 answers instead'])
  })

  test('another model of the provider does not exist', async () => {
    const reading = wire
      .stream('gpt', { messages: [user('Hi')], tools: [] })
      [Symbol.asyncIterator]()
      .next()
    await expect(reading).rejects.toThrow(
      new ModelError("The provider mini has no model 'gpt': its only one is mini:v1."),
    )
    expect(await wire.list?.(AbortSignal.abort())).toEqual([{ name: 'v1', capabilities: ['function-calling'] }])
  })

  test('names the package to install if it is missing', async () => {
    const around = { log: silentLog, clock: systemClock }
    const missing = Object.assign(new Error("Cannot find package '@toolyard/mini'"), { code: 'ERR_MODULE_NOT_FOUND' })
    const opening = miniWire({ name: 'mini', type: 'mini' }, around, {
      beside: () => Promise.reject(missing),
      project: '/nowhere',
    })
    await expect(opening).rejects.toThrow(
      new ModelError('The model "mini:v1" needs the package @toolyard/mini. Install it: docs/start/install.md'),
    )
  })

  test('reports a damaged package as it is', async () => {
    const damaged = Object.assign(new Error("Cannot find package 'luxon'"), { code: 'ERR_MODULE_NOT_FOUND' })
    const around = { log: silentLog, clock: systemClock }
    const opening = miniWire({ name: 'mini', type: 'mini' }, around, { beside: () => Promise.reject(damaged) })
    await expect(opening).rejects.toBe(damaged)
  })

  test('without its packages it says what to install', async () => {
    const find = (name: string) => findPackages(name, ['file:///nowhere/x.js'])
    const around = { log: silentLog, clock: systemClock }
    await expect(miniWire({ name: 'mini', type: 'mini' }, around, { find })).rejects.toThrow(
      new ModelError(
        'The provider mini runs its model by onnxruntime-web and @huggingface/tokenizers, not installed here: ' +
          'npm install onnxruntime-web @huggingface/tokenizers',
      ),
    )
  })
})
