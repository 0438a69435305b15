import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ModelEvent, OfferedTool } from '../model.ts'
import { type Recovery, recoverCalls } from './recover-calls.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const parameters = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
const tools: OfferedTool[] = [{ name: 'get_weather', description: '', parameters }]
const all: Recovery = { tools, messages: [], isAllowed: () => true }
const call = (location: string) => `{"name": "get_weather", "arguments": {"location": "${location}"}}`

async function* from(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events
}

const delta = (text: string): ModelEvent => ({ type: 'text-delta', text })
const stop: ModelEvent = { type: 'finish', reason: 'stop' }

async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const collected: ModelEvent[] = []
  for await (const event of events) collected.push(event)
  return collected
}

const textOf = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')

const locationsOf = (events: readonly ModelEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'tool-call-end' ? [JSON.parse(event.call.function.arguments).location] : [],
  )

/** Pushes text in, one piece after the other, and says what came out before the next was asked for. */
async function stepwise(...pieces: string[]): Promise<string[]> {
  const out: string[] = []
  async function* source(): AsyncGenerator<ModelEvent> {
    for (const piece of pieces) {
      out.push('')
      yield delta(piece)
    }
    out.push('')
    yield stop
  }
  for await (const event of recoverCalls(source(), all)) out[out.length - 1] += textOf([event])
  return out
}

describe('while the text is streamed', () => {
  test('what cannot become a call goes on at once', async () => {
    expect(await stepwise('Hello', ' <b>there', '</b>', ' {x} [y] `z`')).toEqual([
      'Hello',
      ' <b>there',
      '</b>',
      ' {x} [y] `z`',
      '',
    ])
  })

  test('only what may open a call is held back, and as long as it may', async () => {
    expect(await stepwise('One\n<', 'tool', 'box> two')).toEqual(['One\n', '', '<toolbox> two', ''])
    expect(await stepwise('One <', 'tool_call>', '{"name": "get_weather"')).toEqual([
      'One <',
      'tool_call>',
      '{"name": "get_weather"',
      '',
    ])
    expect(await stepwise('{', '"temp', 'erature": 20', '}')).toEqual(['', '{"temp', 'erature": 20', '}', ''])
    expect(await stepwise('{"na', 'me": "x", ', '"age": 3}', ' and')).toEqual([
      '',
      '',
      '{"name": "x", "age": 3}',
      ' and',
      '',
    ])
    expect(await stepwise('[get_', 'time]', ' is')).toEqual(['', '[get_time]', ' is', ''])
    expect(await stepwise('```', 'ts', '\nx')).toEqual(['', '```ts', '\nx', ''])
    expect(await stepwise(' \n', 'Hello')).toEqual(['', ' \nHello', ''])
  })

  test('a tag that proves to be no call is let go where it closes', async () => {
    const wrong = '<tool_call>{"name": "nope", "arguments": {}}</tool_call>'
    expect(await stepwise('Look:\n', wrong, ' so')).toEqual(['Look:\n', wrong, ' so', ''])
  })

  test('a bare call is let go with the first word behind it', async () => {
    expect(await stepwise(call('Paris'), '\n', 'This', ' calls')).toEqual([
      '',
      '',
      `${call('Paris')}\nThis`,
      ' calls',
      '',
    ])
  })

  test('more than 64 KB are never held back', async () => {
    const [held, more] = await stepwise(`{"name": "${'x'.repeat(70_000)}`, 'y')
    expect(held?.length).toBeGreaterThan(64 * 1024)
    expect(more).toBe('y')
  })
})

describe('beside real calls', () => {
  const real: ModelEvent[] = [
    { type: 'tool-call-start', id: 'a', name: 'get_weather' },
    { type: 'tool-call-end', call: { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{}' } } },
  ]
  const finish: ModelEvent = { type: 'finish', reason: 'tool_calls' }
  const tag = `<tool_call>${call('Paris')}</tool_call>`

  test('printed ones are text, in their place', async () => {
    const events: ModelEvent[] = [delta(`I look.\n${tag}\nSo`), ...real, delta(tag), finish]
    expect(await collect(recoverCalls(from(events), all))).toEqual([
      delta('I look.\n'),
      delta(`${tag}\nSo`),
      ...real,
      delta(tag),
      finish,
    ])
  })
})

describe('when the stream fails', () => {
  test('what was held back comes out, and then the error', async () => {
    const error = new Error('cut')
    async function* failing(): AsyncGenerator<ModelEvent> {
      yield delta('<tool_call>{"na')
      throw error
    }
    const seen: ModelEvent[] = []
    const reading = async () => {
      for await (const event of recoverCalls(failing(), all)) seen.push(event)
    }
    await expect(reading()).rejects.toBe(error)
    expect(seen).toEqual([delta('<tool_call>{"na')])
  })

  test('a stream without finish loses nothing', async () => {
    expect(await collect(recoverCalls(from([delta('<tool_call>{"na')]), all))).toEqual([delta('<tool_call>{"na')])
  })

  test('whoever stops listening ends the source', async () => {
    let isEnded = false
    async function* source(): AsyncGenerator<ModelEvent> {
      try {
        for (;;) yield delta('x')
      } finally {
        isEnded = true
      }
    }
    for await (const _ of recoverCalls(source(), all)) break
    expect(isEnded).toBe(true)
  })
})

describe('whatever is printed, in whatever pieces', () => {
  const soup = fc.constantFrom(
    ...['<tool_call>', '</tool_call>', '<tools>', '<function=get_weather>', '</function>', '<|python_tag|>'],
    ...['[TOOL_CALLS]', '[ARGS]', '```', '```json\n', '\n```', '\n', ' ', '{', '}', '[', ']', '"', "'", '\\', ',', ':'],
    ...['get_weather', '(location="x")', '"name"', '"get_weather"', '"arguments"', '{"location": "Paris"}', 'word'],
    ...[
      '<parameter=location>',
      '</parameter>',
      '<invoke name="get_weather">',
      '<',
      '｜',
      '<｜tool▁calls▁begin｜>',
      '👋',
    ],
    ...[call('Paris'), `<tool_call>${call('Oslo')}</tool_call>`, '[get_weather(location="Rome")]', '`', 'functions.'],
  )
  const message = fc.oneof(
    fc.array(soup, { maxLength: 14 }).map((parts) => parts.join('')),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
  )
  const cuts = fc.array(fc.nat({ max: 6 }), { maxLength: 40 })
  const cut = (text: string, sizes: readonly number[]): ModelEvent[] => {
    const pieces: string[] = []
    let at = 0
    for (const size of sizes) {
      pieces.push(text.slice(at, at + size))
      at += size
    }
    return [...pieces, text.slice(at)].map(delta)
  }

  test('nothing is lost, nothing is added, nothing is thrown', async () => {
    await fc.assert(
      fc.asyncProperty(message, cuts, async (text, sizes) => {
        const events = await collect(recoverCalls(from([...cut(text, sizes), stop]), all))
        const [out, made] = [textOf(events), locationsOf(events)]
        if (made.length === 0) expect(out).toBe(text)
        expect(isWithin(out, text)).toBe(true)
        for (const location of made) expect(text.slice(0).includes(location)).toBe(true)
        expect(events.at(-1)).toEqual({ type: 'finish', reason: made.length > 0 ? 'tool_calls' : 'stop' })
      }),
      { numRuns: 2000 },
    )
  })

  test('how the text is cut changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(message, cuts, async (text, sizes) => {
        const whole = await collect(recoverCalls(from([delta(text), stop]), all))
        const pieces = await collect(recoverCalls(from([...cut(text, sizes), stop]), all))
        expect([textOf(pieces), locationsOf(pieces)]).toEqual([textOf(whole), locationsOf(whole)])
      }),
      { numRuns: 1000 },
    )
  })

  test('text out and calls made are text in', async () => {
    const part = fc.oneof(
      fc.record({ prose: fc.stringMatching(/^[a-z .,\n]{1,20}$/) }),
      fc.record({ location: fc.stringMatching(/^[A-Z][a-z]{1,9}$/) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), cuts, async (parts, sizes) => {
        const text = parts.map((one) =>
          'prose' in one ? one.prose : `\n<tool_call>${call(one.location)}</tool_call>\n`,
        )
        const events = await collect(recoverCalls(from([...cut(text.join(''), sizes), stop]), all))
        const prose = parts.map((one) => ('prose' in one ? one.prose : '')).join('')
        expect(textOf(events).replaceAll(/\s/g, '')).toBe(prose.replaceAll(/\s/g, ''))
        expect(locationsOf(events)).toEqual(parts.flatMap((one) => ('location' in one ? [one.location] : [])))
      }),
    )
  })

  test('nesting that no stack can follow is text', async () => {
    for (const [open, close] of ['[]', '{}'].map((pair) => [...pair])) {
      const deep =
        (open === '{' ? '{"name":' : '[').repeat(6000) + (open === '{' ? '1' : '') + (close ?? '').repeat(6000)
      for (const text of [`<tool_call>${deep}</tool_call>`, `{"name": "get_weather", "arguments": ${deep}}`]) {
        expect(textOf(await collect(recoverCalls(from([delta(text), stop]), all)))).toBe(text)
      }
    }
  })

  const MB = 1024 * 1024
  const pieces = [
    ...[
      '{',
      '[',
      '<',
      '`',
      ' ',
      '\n',
      '{\n',
      '<tool_call>',
      '<tool_call>{',
      '<tool_call>{</tool_call>',
      '[TOOL_CALLS][',
    ],
    ...['{"name": ', '```json\n', '```json\n{"name": "', '<function=get_weather>', '{"name": "x"}\n', '[get_weather('],
    ...['\n<tool_call>', '\n<tool_call>{</tool_call>', '\n<tools><tool_call>', '\n```\n', '"\n<tool_call>{', '~~~\n'],
    ...['<tool_call>get_weather', `${call('Paris')}x`, '<tools><tool_call>', '<tool_call>{ ', '\\"'],
  ]
  test.each(pieces.filter((_, index) => FULL || index % 4 === 0))(
    'a megabyte of %j is passed in time that grows with its length',
    async (piece) => {
      const text = piece.repeat(MB / piece.length)
      const chunks = text.match(/.{1,64}/gs) ?? []
      expect(textOf(await collect(recoverCalls(from([...chunks.map(delta), stop]), all))) === text).toBe(true)
    },
  )
})

/** Whether a text is what is left of another when parts are taken out of it. */
function isWithin(part: string, text: string): boolean {
  let at = 0
  for (const character of part) {
    at = text.indexOf(character, at) + 1
    if (at === 0) return false
  }
  return true
}
