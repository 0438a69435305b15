import { readFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { toolsOver } from '../fixtures/call-tool.ts'
import { NEWS } from './fixtures/news.ts'

const embedded = toolsOver(undefined)
const page = (name: string): string => readFileSync(new URL(`../../../../${name}`, import.meta.url), 'utf8')

describe('S1 summarize without a model', () => {
  const summarize = (text: string, format?: string) =>
    embedded.call('summarize', { text, ...(format && { format }) }) as Promise<{ summary: string }>

  test('S1 extracts the sentences that say most, in their order', async () => {
    const { summary, ...rest } = await summarize(NEWS)
    expect(summary).toBe(
      'OSLO, 14 March 2026 — The city council of Oslo voted on Thursday to close the harbour to cruise ships from 2028, ' +
        'ending a dispute that has divided the capital for three years. "Cruise ships pollute the harbour, and the harbour ' +
        'belongs to the people who live here," she told reporters after the vote. Nordic Cruises Ltd, which sends 90 ships ' +
        'a year to Oslo, announced that it would move its ships to Bergen and Copenhagen. The ban must still be approved by ' +
        'the government of Norway.',
    )
    expect(rest).toEqual({
      format: 'paragraph',
      metadata: { input_length: NEWS.length, summary_length: summary.length },
      method: 'embedded',
    })
  })

  test('S1 writes one point a line in the format bullet_points', async () => {
    const { summary, ...rest } = await summarize(NEWS, 'bullet_points')
    expect(summary.split('\n').map((line) => line.slice(0, 9))).toEqual([
      '- OSLO, 1',
      '- "Cruise',
      '- Nordic ',
      '- The ban',
    ])
    expect(rest).toMatchObject({ format: 'bullet_points' })
  })

  test.each([
    ['README.md', 'Toolyard runs tools for AI models: it validates, '],
    [
      'docs/concepts/isolation.md',
      'An isolated handler runs in a separate process, which is killed when the deadline passes.',
    ],
  ])('S1 begins a summary of %s with what it is about, and leaves Markdown out', async (name, first) => {
    const { summary } = await summarize(page(name))
    expect(summary.startsWith(first)).toBe(true)
    expect(summary).not.toMatch(/[`|#]|\]\(|\*\*/)
    expect(summary.length).toBeLessThan(page(name).length / 8)
  })

  test.each([
    ['one sentence', 'The council met on Monday.', 'The council met on Monday.'],
    ['a list', '- Milk, eggs and bread\n- Two kilos of potatoes', 'Milk, eggs and bread.'],
    ['no sentence', 'Hello', 'Hello.'],
    ['a table', '| a | b |\n| --- | --- |\n| 1 | 2 |', '| a | b | | --- | --- | | 1 | 2 |'],
    [
      'an abbreviation',
      'Dr. J. Smith met Mrs. Jones of Acme Inc. on Monday.',
      'Dr. J. Smith met Mrs. Jones of Acme Inc. on Monday.',
    ],
    ['Chinese', '委员会星期一开会。他们选择了奥斯陆。', '委员会星期一开会。'],
    ['nothing', ' \n', ''],
  ])('S1 gives a text of %s back', async (_, text, expected) => {
    expect((await summarize(text)).summary).toBe(expected)
  })
})

describe('S1 extract_entities without a model', () => {
  const extract = (text: string, entity_types?: string[]) =>
    embedded.call('extract_entities', { text, ...(entity_types && { entity_types }) })

  test('S1 finds people, places and organizations', async () => {
    expect(await extract(NEWS)).toEqual({
      entities: {
        people: ['Ingrid Solberg', 'Lars Nygaard', 'Amina Yusuf'],
        places: ['Oslo', 'Bergen', 'Copenhagen', 'Venice', 'Amsterdam', 'Barcelona', 'Norway'],
        organizations: ['Norwegian Shipowners Association', 'Nordic Cruises Ltd', 'University of Oslo'],
      },
      method: 'embedded',
    })
  })

  test('S1 finds dates, addresses and amounts, by any usual name of the type', async () => {
    const text = `${NEWS} Call +47 22 00 00 00 before 2026-12-31 or pay 20 euros.`
    expect(await extract(text, ['dates', 'Email', 'URLs', 'money', 'percentages', 'phone numbers'])).toMatchObject({
      entities: {
        dates: ['14 March 2026', 'Thursday', '2028', '2023', '30 June 2026', '2026-12-31'],
        Email: ['harbour@oslo.example'],
        URLs: ['https://oslo.example/harbour'],
        money: ['€120 million', '20 euros'],
        percentages: ['60%'],
        'phone numbers': ['+47 22 00 00 00'],
      },
    })
  })

  test('S1 names the types that it does not know', async () => {
    expect(await extract('Ada Lovelace lives in Oslo.', ['people', 'products'])).toEqual({
      entities: { people: ['Ada Lovelace'], products: [] },
      note: expect.stringMatching(
        /^Without a model, these types are not recognized: products\. Recognized are people, /,
      ),
      method: 'embedded',
    })
  })

  test.each<[string, Record<string, string[]>]>([
    [
      'Tim Cook, the chief executive of Apple, met J. K. Rowling.',
      { people: ['Tim Cook', 'J. K. Rowling'], organizations: ['Apple'] },
    ],
    ['President Biden thanked the President of France.', { people: ['Biden'], places: ['France'] }],
    ['Who is in the WHO? The shell of SHELL.', { organizations: ['WHO'] }],
    [
      'Ngozi Okafor, 42, left. Okafor is from Springfield, Illinois.',
      { people: ['Ngozi Okafor'], places: ['Springfield', 'Illinois'] },
    ],
    ['In May the Bank of England met on Monday. Then It Rained.', { organizations: ['Bank of England'] }],
    ['JSON, HTTP and TypeScript are not people. See Node.js 24.', {}],
  ])('S1 %s', async (text, found) => {
    expect(await extract(text)).toMatchObject({ entities: { people: [], places: [], organizations: [], ...found } })
  })

  test('S1 finds next to no names in a technical text', async () => {
    const { entities } = (await extract(page('README.md'))) as { entities: Record<string, string[]> }
    expect(entities).toEqual({ people: [], places: ['Cairo'], organizations: [] })
  })
})

describe('S1 classify_intent without a model', () => {
  const classify = (text: string, categories?: string[]) =>
    embedded.call('classify_intent', { text, ...(categories && { categories }) })

  test.each([
    ['How do I reset my password?', 'question'],
    ['Hi, what are your opening hours?', 'question'],
    ['where can I buy this', 'question'],
    ['Please cancel my subscription at the end of the month.', 'request'],
    ['Could you send me the invoice for March?', 'request'],
    ['Book me a flight to Oslo next Friday', 'request'],
    ['I was charged twice and want my money back.', 'complaint'],
    ['Your app crashed again and I lost all my work. This is unacceptable!', 'complaint'],
    ['The package still has not arrived after three weeks.', 'complaint'],
    ['I love the new design, it is so much easier to use.', 'feedback'],
    ['It would be nice if the app had a dark mode.', 'feedback'],
    ['Hello there, good morning!', 'greeting'],
    ['The meeting is on Tuesday at nine.', 'other'],
  ])('S13 chooses among the default categories: %s', async (text, intent) => {
    expect(await classify(text)).toMatchObject({ intent, confidence: expect.any(Number), method: 'embedded' })
  })

  test('S1 compares the words of the categories where there is nothing to compare meanings', async () => {
    const categories = ['billing', 'cancel_order', 'delivery']
    expect(await classify('I have to cancel the order from Monday', categories)).toMatchObject({
      intent: 'cancel_order',
    })
    const unknown = { intent: 'unknown', confidence: 0, method: 'embedded' }
    expect(await classify('The sky is blue.', categories)).toEqual(unknown)
    expect(await classify(' ', categories)).toEqual(unknown)
    expect(await classify('The sky is blue.', [...categories, 'other'])).toMatchObject({ intent: 'other' })
  })

  test('S1 compares the meaning of the text with the categories by the embedded model', async () => {
    const embed = vi.fn(async (texts: readonly string[]) =>
      texts.map((text) => (/charged|billing/.test(text) ? [1, 0] : [0, 1])),
    )
    const tools = toolsOver(undefined, embed)
    const params = { text: 'I was charged twice.', categories: ['sales', 'billing'] }
    expect(await tools.call('classify_intent', params)).toMatchObject({ intent: 'billing', confidence: 1 })
    expect(embed.mock.calls[0]?.[0]).toEqual(['I was charged twice.', 'sales', 'billing'])
  })
})

describe('S1 tag_chunk_docs without a model', () => {
  test('S1 tags chunks with their keywords', async () => {
    expect(await embedded.call('tag_chunk_docs', { content: NEWS })).toEqual({
      chunks: [
        {
          index: 0,
          text: expect.stringMatching(/^OSLO/),
          tags: ['harbour', 'cruise ships', 'council', 'voted', 'oslo'],
        },
        { index: 1, text: expect.stringMatching(/^The Norw/), tags: ['ships', 'ban', 'cruise', 'oslo', 'year'] },
      ],
      method: 'embedded',
    })
  })

  test('S1 prefers the words of the headings', async () => {
    const { chunks } = (await embedded.call('tag_chunk_docs', { content: page('docs/concepts/isolation.md') })) as {
      chunks: { tags: string[] }[]
    }
    expect(chunks[1]?.tags[0]).toBe('isolated handler')
    for (const { tags } of chunks) expect(tags.length).toBeLessThanOrEqual(5)
  })
})

describe('S1 the rules', () => {
  const LONGEST: readonly (readonly [string, string])[] = [
    ['prose', NEWS.repeat(200)],
    ['one word', 'x'.repeat(200_000)],
    ['digits', '1'.repeat(200_000)],
    ['brackets', '['.repeat(200_000)],
    ['short sentences', 'A b c d. '.repeat(30_000)],
    ['Chinese', '他们在那里。'.repeat(40_000)],
    ['names', 'Ada Bob '.repeat(30_000)],
    ['list items', '- a b c d\n'.repeat(20_000)],
    ['table cells', 'a|b\n'.repeat(60_000)],
  ]

  test.each(LONGEST)('S1 let other work run while they read the longest text of %s', async (_, long) => {
    const text = long.slice(0, 200_000)
    const calls = Promise.all([
      embedded.call('summarize', { text }),
      embedded.call('extract_entities', { text }),
      embedded.call('tag_chunk_docs', { content: text }),
      embedded.call('classify_intent', { text, categories: ['a', 'b'] }),
    ])
    let [turns, ended] = [0, false]
    void calls.then(() => {
      ended = true
    })
    while (!ended) {
      await nextTurn()
      turns++
    }
    expect(await calls).toHaveLength(4)
    expect(turns).toBeGreaterThan(3)
  })

  test('S1 stop when the call is cancelled', async () => {
    const text = 'A sentence of five words. '.repeat(7_000)
    const controller = new AbortController()
    const calls = (['summarize', 'extract_entities'] as const).map((name) =>
      embedded.call(name, { text }, controller.signal).then(
        () => 'ended',
        (error: Error) => error.message,
      ),
    )
    controller.abort(new Error('enough'))
    expect(await Promise.all(calls)).toEqual(['enough', 'enough'])
  })
})
