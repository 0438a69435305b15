import { describe, expect, test } from 'vitest'
import type { ServerEvent } from '../api/read-events.ts'
import type { RequestOptions } from '../api/request.ts'
import { EXAMPLES, exampleOf, fittingExamples, ownTools } from './examples.ts'
import { type Answer, answered, newRun } from './run-state.ts'
import { ThreadStore } from './thread-store.ts'
import {
  branched,
  callsIn,
  DEFAULT_SETTINGS,
  historyOf,
  mockProblem,
  questionOf,
  type Reply,
  read,
  stored,
  type Thread,
  threadOfRun,
  titleOf,
  toolsIn,
} from './threads.ts'

const answer = (content: string, more: Partial<Answer> = {}): Answer => ({
  content,
  service: 's',
  model: 'm',
  tool_calls: [],
  stop_reason: 'stop',
  run_id: 'r',
  ...more,
})

const reply = (content: string, query = 'Q'): Reply => answered(newRun('s:m', query, 0), answer(content), 5)

const thread = (...turns: [query: string, ...contents: string[]][]): Thread => ({
  id: 't',
  updatedAt: 1,
  settings: DEFAULT_SETTINGS,
  turns: turns.map(([query, ...contents], at) => ({
    id: `turn-${at}`,
    query,
    replies: contents.map((one) => reply(one, query)),
  })),
})

describe('the messages of a follow-up', () => {
  test('are those of the column, without turns that have no answer', () => {
    const asked = thread(['Weather?', 'Which location?', 'Where?'], ['Hm', '', 'Well'], ['in Berlin', '', ''])
    expect(historyOf(asked, 2, 0)).toEqual([
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: 'Which location?' },
    ])
    expect(historyOf(asked, 2, 1).map(({ content }) => content)).toEqual(['Weather?', 'Where?', 'Hm', 'Well'])
  })

  test('come from the first model in a column that is new', () => {
    expect(historyOf(thread(['A', 'B']), 1, 1).at(-1)).toEqual({ role: 'assistant', content: 'B' })
  })
})

test('a run leads to its thread', () => {
  const threads = [{ ...thread(['A', 'B']), id: 'other', turns: [] }, thread(['A', 'B'])]
  expect([threadOfRun(threads, 'r')?.id, threadOfRun(threads, 'unknown')]).toEqual(['t', undefined])
})

describe('a question', () => {
  test('asks before writes, unless results are mocked', () => {
    const asked = thread(['Pay', ''])
    expect(questionOf(asked, 0, 0, 's:m')).toEqual({ query: 'Pay', model: 's:m', ask_writes: true })
    const mocks = { pay: '{"paid": 1}', other: '1', empty: ' ' }
    const mocked = { ...asked, settings: { ...DEFAULT_SETTINGS, tools: ['pay', 'empty'], mocks } }
    expect(questionOf(mocked, 0, 0, 's:m')).toEqual({
      query: 'Pay',
      model: 's:m',
      tools: ['pay', 'empty'],
      mock: true,
      mock_results: { pay: { paid: 1 } },
    })
  })

  test('can’t have mock results that are not JSON', () => {
    expect(mockProblem({ pay: '{' })).toMatch(/^The mock result of pay is not JSON: /)
    expect(mockProblem({ pay: '1', empty: '' })).toBeUndefined()
  })
})

describe('stored threads', () => {
  test('have no parameters and results, and know how many calls there were', () => {
    const secret = { tool: 'look', params: { secret: 1 }, iteration: 1 }
    const tool_calls = [secret] as unknown as Answer['tool_calls']
    const full = thread(['Q', 'A'])
    const [turn] = full.turns as [Thread['turns'][number]]
    const done = {
      ...full,
      turns: [{ ...turn, replies: [answered(newRun('s:m', 'Q', 0), answer('A', { tool_calls }), 1)] }],
    }
    const text = JSON.stringify(stored([done]))
    expect(text).not.toContain('secret')
    const reply = read(JSON.parse(text))[0]?.turns[0]?.replies[0] as Reply
    expect([callsIn(reply), toolsIn(reply)]).toEqual([1, ['look']])
    expect(toolsIn(read(stored(read(JSON.parse(text))))[0]?.turns[0]?.replies[0] as Reply)).toEqual(['look'])
  })

  test.each([null, 'x', {}, [1, null, { id: 't' }, { id: 't', settings: { models: [] }, turns: [{}] }]])(
    'that are %j are left out',
    (value) => expect(read(value)).toEqual([]),
  )

  test('mark a run that was cut off', () => {
    const cut = { ...thread(['Q']), turns: [{ id: 'a', query: 'Q', replies: [newRun('s:m', 'Q', 0)] }] }
    expect(read(stored([cut]))[0]?.turns[0]?.replies[0]).toMatchObject({ status: 'cancelled' })
  })
})

test('a branch keeps the turns up to the chosen one, and its origin all of them', () => {
  const origin = thread(['A', 'a'], ['B', 'b'], ['C', 'c'])
  const branch = branched(origin, 1, 'new', 9)
  expect([branch.id, branch.turns.map(({ query }) => query)]).toEqual(['new', ['A', 'B']])
  expect(origin.turns).toHaveLength(3)
})

test('a title is one short line', () => {
  expect(titleOf(thread(['one\n two']))).toBe('one two')
  expect(titleOf(thread(['x'.repeat(99)]))).toHaveLength(60)
})

describe('the store', () => {
  function open() {
    const kept = new Map<string, string>()
    const asked: { path: string; options: RequestOptions; give: (event: ServerEvent | undefined) => void }[] = []
    const deleted: string[] = []
    let ids = 0
    async function* events(path: string, options: RequestOptions): AsyncGenerator<ServerEvent> {
      const given: (ServerEvent | undefined)[] = []
      let wake = () => {}
      asked.push({
        path,
        options,
        give(event) {
          given.push(event)
          wake()
        },
      })
      options.signal?.addEventListener('abort', () => wake())
      for (;;) {
        if (options.signal?.aborted) throw new Error('aborted')
        if (given.length === 0) {
          const { promise, resolve } = Promise.withResolvers<void>()
          wake = resolve
          await promise
        }
        const event = given.shift()
        if (event !== undefined) yield event
        else if (!options.signal?.aborted) return
      }
    }
    const parts = {
      storage: {
        getItem: (key: string) => kept.get(key) ?? null,
        setItem: (key: string, text: string) => void kept.set(key, text),
        removeItem: (key: string) => void kept.delete(key),
      },
      events,
      send: async (path: string) => void deleted.push(path),
      json: () => Promise.reject(new Error('No server')),
      say: () => {},
      now: () => ids,
      id: () => `id-${ids++}`,
    }
    return { store: new ThreadStore(parts), again: () => new ThreadStore(parts), asked, deleted, kept }
  }
  const settings = { ...DEFAULT_SETTINGS, models: ['s:m'] }
  const statusOf = (store: ThreadStore, id: string) =>
    store
      .get(id)
      ?.turns.at(-1)
      ?.replies.map(({ status }) => status)

  test('sends the conversation with a follow-up and has it after a reload', async () => {
    const { store, again, asked } = open()
    const id = store.ask(undefined, settings, 'Weather?')
    asked[0]?.give({ event: 'answer', data: answer('Which location?') })
    asked[0]?.give(undefined)
    await expect.poll(() => statusOf(store, id)).toEqual(['done'])
    expect(store.ask(id, settings, 'in Berlin')).toBe(id)
    expect(asked[1]?.options.body).toMatchObject({
      query: 'in Berlin',
      previous_messages: [{ content: 'Weather?' }, { content: 'Which location?' }],
    })
    asked[1]?.give({ event: 'answer', data: answer('Sunny.') })
    asked[1]?.give(undefined)
    await expect.poll(() => statusOf(store, id)).toEqual(['done'])
    expect(
      again()
        .get(id)
        ?.turns.map(({ replies }) => replies[0]?.answer?.content),
    ).toEqual(['Which location?', 'Sunny.'])
  })

  test('replaces what follows an edited question, and gives it back', async () => {
    const { store, asked } = open()
    const id = store.ask(undefined, settings, 'A')
    asked[0]?.give({ event: 'answer', data: answer('a') })
    await expect.poll(() => statusOf(store, id)).toEqual(['done'])
    const before = store.get(id) as Thread
    store.ask(id, settings, 'B', 0)
    expect(store.get(id)?.turns.map(({ query }) => query)).toEqual(['B'])
    store.restore(before)
    expect(store.get(id)?.turns.map(({ query }) => query)).toEqual(['A'])
  })

  test('stops runs, and cancels on the server what waits for approval', async () => {
    const { store, asked, deleted } = open()
    const id = store.ask(undefined, settings, 'A')
    store.stop(id)
    await expect.poll(() => statusOf(store, id)).toEqual(['cancelled'])
    store.ask(id, settings, 'B')
    asked[1]?.give({ event: 'answer', data: answer('', { status: 'waiting', approvals: [] }) })
    await expect.poll(() => statusOf(store, id)).toEqual(['waiting'])
    store.stop(id)
    expect([statusOf(store, id), deleted]).toEqual([['cancelled'], ['/api/runs/r']])
  })

  test('follows a run that waits until it has ended', async () => {
    const { store, asked } = open()
    const id = store.ask(undefined, settings, 'A')
    asked[0]?.give({ event: 'answer', data: answer('Wait', { status: 'waiting', approvals: [] }) })
    asked[0]?.give(undefined)
    await expect.poll(() => statusOf(store, id)).toEqual(['waiting'])
    await expect.poll(() => asked[1]?.path).toBe('/api/runs/r/events')
    store.follow(id)
    asked[1]?.give({ event: 'tool', data: {} })
    asked[1]?.give({ event: 'end', data: { ...answer('Paid.'), status: 'finished' } })
    asked[1]?.give(undefined)
    await expect.poll(() => statusOf(store, id)).toEqual(['done'])
    expect([store.get(id)?.turns[0]?.replies[0]?.answer?.content, asked.length]).toEqual(['Paid.', 2])
  })

  test('shows a user nothing of another one', () => {
    const { store, again, kept } = open()
    store.belongTo('acme/ada')
    store.ask(undefined, settings, 'A')
    const next = again()
    next.belongTo('acme/ada')
    expect(next.threads).toHaveLength(1)
    next.belongTo('acme/bob')
    expect([next.threads, kept.size]).toEqual([[], 0])
  })

  test('goes on without a place to store', () => {
    const { store } = open()
    const id = store.ask(undefined, settings, 'A')
    expect(store.remove(id)?.id).toBe(id)
    expect(store.threads).toEqual([])
  })
})

describe('examples', () => {
  const tool = { description: '', kind: 'http', origin: 'configuration', permissions: [], effect: 'read' } as const

  test('are those that the tools can answer', () => {
    expect(fittingExamples([]).map(({ title }) => title)).toEqual(['Direct Answer Test'])
    const shipped = ['get_weather', 'calculate', 'search_documents'].map((name) => ({ name }))
    expect(fittingExamples(shipped)).toEqual(EXAMPLES)
  })

  test('are made from the required parameters of own tools', () => {
    const named = ['get_weather', 'refund', 'gone'].map((name) => ({ ...tool, name }))
    const tools = [...named, { ...tool, name: 'bad', broken: 'no' }]
    expect(ownTools(tools).map(({ name }) => name)).toEqual(['refund', 'gone'])
    const properties = {
      order_id: { type: 'string' },
      amount: { type: 'number', minimum: 5 },
      currency: { enum: ['EUR', 'USD'] },
      note: { type: 'string' },
    }
    const parameters = { type: 'object', properties, required: ['order_id', 'amount', 'currency'] }
    expect(exampleOf({ name: 'refund', parameters }).query).toBe(
      'Use refund with order_id 42, amount 5 and currency EUR.',
    )
    expect(exampleOf({ name: 'ping', parameters: { type: 'object' } }).query).toBe('Use ping.')
    const light = {
      type: 'object',
      properties: { light: { type: 'string' }, scene: { type: 'string', description: 'A scene, such as "evening".' } },
      required: ['light', 'scene'],
    }
    expect(exampleOf({ name: 'set_light', parameters: light }).query).toBe(
      'Use set_light with light kitchen and scene evening.',
    )
  })
})
