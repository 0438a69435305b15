import { describe, expect, test } from 'vitest'
import type { StoredThread } from '../../../src/operations/threads.ts'
import { ApiProblem } from '../api/api-problem.ts'
import type { ServerEvent } from '../api/read-events.ts'
import type { RequestOptions } from '../api/request.ts'
import { ThreadStore } from './thread-store.ts'
import { DEFAULT_SETTINGS, titleOf } from './threads.ts'

const settings = { ...DEFAULT_SETTINGS, models: ['s:m'] }

/** A server, and browsers that use it. */
function open(stored = true) {
  const threads = new Map<string, StoredThread>()
  const said: string[] = []
  const policy = { stored }
  /** The server stores a thread, and its answer doesn’t arrive. */
  const fault = { lost: false }
  let time = 100
  const json = async (path: string, { method = 'GET', body }: RequestOptions = {}): Promise<unknown> => {
    const id = path.slice('/api/threads/'.length)
    const known = threads.get(id)
    if (path === '/api/threads') {
      return { stored: policy.stored, threads: [...threads.values()].map(({ content: _content, ...listed }) => listed) }
    }
    if (method === 'PUT') {
      const { name, before, content } = body as { name: string; before: number | null } & Pick<StoredThread, 'content'>
      if (!policy.stored || (known?.updated_at ?? null) !== before) throw new ApiProblem(409, 'changed')
      const next = { id, name, questions: content.turns.length, updated_at: ++time, content }
      threads.set(id, JSON.parse(JSON.stringify(next)))
      if (fault.lost) throw new ApiProblem(0, 'lost')
      return next
    }
    if (known === undefined) throw new ApiProblem(404, 'not found')
    if (method === 'DELETE') threads.delete(id)
    return known
  }
  const browser = (name: string) => {
    const kept = new Map<string, string>()
    let ids = 0
    async function* events(_path: string, { body }: RequestOptions): AsyncGenerator<ServerEvent> {
      const content = `Answer to ${(body as { query: string }).query}`
      yield { event: 'answer', data: { content, service: 's', model: 'm', tool_calls: [], stop_reason: 'stop' } }
    }
    const parts = {
      storage: {
        getItem: (key: string) => kept.get(key) ?? null,
        setItem: (key: string, text: string) => void kept.set(key, text),
        removeItem: (key: string) => void kept.delete(key),
      },
      events,
      send: async () => {},
      json: json as <Answer>(path: string, options?: RequestOptions) => Promise<Answer>,
      say: (text: string) => void said.push(text),
      now: () => ++time,
      id: () => `${name}-${ids++}`,
    }
    return { store: new ThreadStore(parts), again: () => new ThreadStore(parts) }
  }
  const names = () => [...threads.values()].map(({ name }) => name)
  return { browser, threads, names, said, policy, fault }
}

const titles = ({ threads }: ThreadStore) => threads.map(titleOf)

describe('threads on the server', () => {
  test('are opened, renamed and continued in another browser', async () => {
    const { browser, names, threads } = open()
    const [one, other] = [browser('one').store, browser('other').store]
    await one.sync()
    const id = one.ask(undefined, settings, 'Weather?')
    await expect.poll(names).toEqual(['Weather?'])
    await other.sync()
    expect(other.threads).toMatchObject([{ id, questions: 1, turns: [] }])
    await other.load(id)
    expect(other.get(id)?.turns[0]?.replies[0]?.answer?.content).toBe('Answer to Weather?')
    other.rename(id, 'Berlin')
    await expect.poll(names).toEqual(['Berlin'])
    other.ask(id, settings, 'And tomorrow?')
    await expect.poll(() => threads.get(id)?.questions).toBe(2)
    await one.sync()
    await one.load(id)
    expect([titles(one), one.get(id)?.turns.length]).toEqual([['Berlin'], 2])
  })

  test('come from the browser, once the server stores them', async () => {
    const { browser, names, policy } = open(false)
    const { store, again } = browser('one')
    await store.sync()
    expect(store.place).toBe('browser')
    const id = store.ask(undefined, settings, 'A')
    await expect.poll(() => store.get(id)?.turns[0]?.replies[0]?.status).toBe('done')
    expect(names()).toEqual([])
    policy.stored = true
    const next = again()
    await next.sync()
    expect(next.place).toBe('server')
    await expect.poll(names).toEqual(['A'])
  })

  test('are deleted everywhere, and restored', async () => {
    const { browser, names } = open()
    const [one, other] = [browser('one').store, browser('other').store]
    await one.sync()
    const id = one.ask(undefined, settings, 'A')
    await expect.poll(names).toEqual(['A'])
    await other.sync()
    await other.load(id)
    const removed = other.remove(id)
    await expect.poll(names).toEqual([])
    await one.sync()
    expect(one.threads).toEqual([])
    if (removed !== undefined) other.restore(removed)
    await expect.poll(names).toEqual(['A'])
  })

  test('that two browsers changed are both there', async () => {
    const { browser, names, said } = open()
    const [one, other] = [browser('one').store, browser('other').store]
    await one.sync()
    const id = one.ask(undefined, settings, 'A')
    await expect.poll(names).toEqual(['A'])
    await other.sync()
    await other.load(id)
    one.ask(id, settings, 'B')
    await expect.poll(() => one.get(id)?.dirty).toBe(false)
    other.ask(id, settings, 'C')
    await expect.poll(() => names().toSorted()).toEqual(['A', 'A (copy)'])
    const asked = (thread: string) => other.get(thread)?.turns.map(({ query }) => query)
    expect([asked(id), asked('other-1')]).toEqual([
      ['A', 'B'],
      ['A', 'C'],
    ])
    expect(said).toHaveLength(1)
  })

  test('whose request got no answer are not stored twice', async () => {
    const { browser, names, threads, fault } = open()
    const { store, again } = browser('one')
    await store.sync()
    fault.lost = true
    const id = store.ask(undefined, settings, 'A')
    await expect.poll(names).toEqual(['A'])
    fault.lost = false
    const next = again()
    await next.sync()
    next.ask(id, settings, 'B')
    await expect.poll(() => threads.get(id)?.questions).toBe(2)
    expect(names()).toEqual(['A'])
  })

  test('that another browser has deleted are stored again with the next question', async () => {
    const { browser, names, threads } = open()
    const { store } = browser('one')
    await store.sync()
    const id = store.ask(undefined, settings, 'A')
    await expect.poll(names).toEqual(['A'])
    threads.clear()
    store.ask(id, settings, 'B')
    await expect.poll(() => threads.get(id)?.questions).toBe(2)
  })

  test('that are gone are not shown', async () => {
    const { browser } = open()
    const { store } = browser('one')
    await store.load('none')
    expect(store.get('none')).toBeUndefined()
  })
})
