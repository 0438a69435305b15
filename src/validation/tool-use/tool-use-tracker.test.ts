import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ToolUseAddition } from '../../core/storage/tool-use-store.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { ModelValidationError } from '../model-validation.ts'
import { MemoryToolUses } from './fixtures/memory-tool-uses.ts'
import { schemaHash, type ToolUse, wilsonLowerBound } from './tool-use.ts'
import { ToolUseTracker } from './tool-use-tracker.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolyard-tool-use-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const use = (more: Partial<ToolUse> = {}): ToolUse => ({
  tenant: 'acme',
  model: 'a:b',
  tool: 'add',
  schemaHash: 'aa',
  outcome: { passed: true },
  source: 'run',
  ...more,
})

const wrong = (more: object = {}) =>
  ({ passed: false, kind: 'wrong_type', message: 'n must be a number', ...more }) as const

describe('counting', () => {
  test('counts suites and runs separately, with rate, bound, kinds and failures', async () => {
    const tracker = new ToolUseTracker({ store: new MemoryToolUses(), clock: new ManualClock() })
    for (let n = 0; n < 8; n++) tracker.record(use({ source: n < 3 ? 'suite' : 'run' }))
    tracker.record(use({ outcome: wrong({ expected: { type: 'number' }, actual: { n: 'x' } }), runId: 'run-1' }))
    tracker.record(use({ outcome: wrong({ kind: 'wrong_value' }), source: 'suite' }))
    expect(await tracker.list('acme', () => 'aa')).toEqual([
      {
        model_id: 'a:b',
        tool: 'add',
        schema_hash: 'aa',
        schema: 'current',
        trials: 10,
        successes: 8,
        rate: 0.8,
        lower_bound: 0.4902,
        last_used: '2026-01-01T00:00:00.000Z',
        suite: { trials: 4, successes: 3, rate: 0.75, lower_bound: 0.3006 },
        run: { trials: 6, successes: 5, rate: 0.8333, lower_bound: 0.4365 },
        failure_kinds: { wrong_type: 1, wrong_value: 1 },
        failures: [
          {
            timestamp: '2026-01-01T00:00:00.000Z',
            source: 'run',
            kind: 'wrong_type',
            message: 'n must be a number',
            expected: '{"type":"number"}',
            actual: '{"n":"x"}',
            run_id: 'run-1',
          },
          {
            timestamp: '2026-01-01T00:00:00.000Z',
            source: 'suite',
            kind: 'wrong_value',
            message: 'n must be a number',
          },
        ],
      },
    ])
  })

  test('starts a new count for a changed schema, and marks the old one', async () => {
    const tracker = new ToolUseTracker({ store: new MemoryToolUses() })
    tracker.record(use())
    tracker.record(use({ schemaHash: 'bb', outcome: wrong() }))
    tracker.record(use({ tool: 'gone' }))
    const listed = await tracker.list('acme', (tool) => (tool === 'add' ? 'bb' : undefined))
    expect(listed.map(({ tool, schema, trials, successes }) => [tool, schema, trials, successes])).toEqual([
      ['add', 'changed', 1, 1],
      ['add', 'current', 1, 0],
      ['gone', 'gone', 1, 1],
    ])
  })

  test('ignores uses that are not answered', async () => {
    const tracker = new ToolUseTracker({ store: new MemoryToolUses() })
    tracker.record(use({ outcome: wrong({ kind: 'not_answered' }) }))
    expect(await tracker.list('acme')).toEqual([])
  })

  test('shortens long texts, redacts secrets and makes names storable', async () => {
    const tracker = new ToolUseTracker({ store: new MemoryToolUses() })
    const secret = `sk-${'a'.repeat(40)}`
    const actual = { api_key: 'hunter2', text: 'x'.repeat(5_000) }
    tracker.record(use({ model: 'a:\0', tool: 't'.repeat(500), outcome: wrong({ message: secret, actual }) }))
    const [one] = await tracker.list('acme')
    expect([one?.model_id, one?.tool.length]).toEqual(['a:\uFFFD', 200])
    const [failure] = one?.failures ?? []
    expect(JSON.stringify(failure)).not.toMatch(/hunter2|sk-a/)
    expect(failure?.actual?.length).toBeLessThan(350)
  })
})

describe('writing', () => {
  test('writes many uses in one batch, a second later', async () => {
    const clock = new ManualClock()
    const store = new MemoryToolUses()
    const batches: (readonly ToolUseAddition[])[] = []
    const add = store.add.bind(store)
    store.add = (additions) => {
      batches.push(additions)
      return add(additions)
    }
    const tracker = new ToolUseTracker({ store, clock })
    for (let n = 0; n < 1_000; n++) tracker.record(use({ tool: n % 2 ? 'add' : 'sub' }))
    expect(batches).toEqual([])
    await clock.advance(1_000)
    expect(batches.map((batch) => batch.map(({ run }) => run.trials))).toEqual([[500, 500]])
    await tracker.close()
    expect(batches).toHaveLength(1)
  })

  test('keeps and retries uses that the store rejects, and logs once', async () => {
    const clock = new ManualClock()
    const log = captureLog()
    const store = new MemoryToolUses()
    const add = store.add.bind(store)
    let works = false
    store.add = async (additions) => {
      if (!works) throw new Error('down')
      await add(additions)
    }
    const tracker = new ToolUseTracker({ store, clock, log })
    tracker.record(use({ outcome: wrong({ message: 'first' }) }))
    for (let n = 0; n < 3; n++) await clock.advance(10_000)
    tracker.record(use({ outcome: wrong({ message: 'second' }) }))
    await expect(tracker.flush()).rejects.toThrow('down')
    works = true
    await clock.advance(60_000)
    const [kept] = await store.list('acme')
    expect(kept?.failures.map(({ message }) => message)).toEqual(['first', 'second'])
    expect(kept?.run).toEqual({ trials: 2, successes: 0 })
    expect(log.at('warn')).toHaveLength(1)
  })

  test('writes the last uses on close', async () => {
    const store = new MemoryToolUses()
    const tracker = new ToolUseTracker({ store })
    tracker.record(use())
    await tracker.close()
    tracker.record(use())
    await tracker.close()
    expect((await store.list('acme'))[0]?.run).toEqual({ trials: 1, successes: 1 })
  })

  test('flush waits for a write in progress', async () => {
    const store = new MemoryToolUses()
    const written = Promise.withResolvers<void>()
    store.add = () => written.promise
    const tracker = new ToolUseTracker({ store })
    tracker.record(use())
    const first = tracker.flush()
    let settled = false
    const second = tracker.flush().then(() => {
      settled = true
    })
    await new Promise(setImmediate)
    expect(settled).toBe(false)
    written.resolve()
    await Promise.all([first, second])
    await tracker.close()
  })
})

describe('files', () => {
  test('load replaces counts with exported ones', async () => {
    const file = join(folder, 'saved.json')
    const first = new ToolUseTracker({ store: new MemoryToolUses() })
    first.record(use({ outcome: wrong() }))
    const tool_use = await first.list('acme')
    await writeFile(file, JSON.stringify({ tool_use }))
    const second = new ToolUseTracker({ store: new MemoryToolUses() })
    second.record(use({ tool: 'gone soon', tenant: 'other' }))
    await second.load(file, 'other')
    expect(await second.list('other')).toEqual(tool_use)
  })

  const good = {
    model_id: 'a:b',
    tool: 'add',
    schema_hash: 'aa',
    suite: { trials: 0, successes: 0 },
    run: { trials: 1, successes: 1 },
    last_used: '2026-01-01T00:00:00.000Z',
    failure_kinds: {},
    failures: [],
  }
  test.each([
    ['no JSON', '{', "it isn't JSON"],
    ['another document', '{}', "missing 'tool_use'"],
    ['a count below zero', [{ ...good, run: { trials: -1, successes: 0 } }], 'tool_use[0].run.trials'],
    ['more successes than trials', [{ ...good, run: { trials: 1, successes: 2 } }], 'has more successes than trials'],
    ['a name that is none', [{ ...good, tool: '' }], 'tool_use[0].tool'],
    ['one count twice', [good, good], 'the count of "a:b" with "add" appears twice'],
  ])('a file with %s is rejected and changes nothing', async (_, content, problem) => {
    const file = join(folder, 'bad.json')
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify({ tool_use: content }))
    const tracker = new ToolUseTracker({ store: new MemoryToolUses() })
    tracker.record(use())
    const loaded = tracker.load(file, 'acme')
    await expect(loaded).rejects.toThrow(ModelValidationError)
    await expect(loaded).rejects.toThrow(problem)
    expect(await tracker.list('acme')).toHaveLength(1)
  })
})

test.each([
  [0, 0, 0],
  [0, 10, 0],
  [1, 1, 0.2065],
  [4, 5, 0.3755],
  [80, 100, 0.7112],
  [10, 10, 0.7225],
])('%d of %d are at least %d', (successes, trials, bound) => {
  expect(wilsonLowerBound(successes, trials)).toBeCloseTo(bound, 4)
})

test('the schema hash covers what a model sees of a tool', () => {
  const tool = { name: 'add', description: 'Adds.', parameters: { type: 'object', required: ['a'] } }
  const hash = schemaHash(tool)
  expect(hash).toMatch(/^[0-9a-f]{16}$/)
  const same = { ...tool, parameters: { required: ['a'], type: 'object' }, implementation: { type: 'mock' } }
  expect(schemaHash(same)).toBe(hash)
  expect(schemaHash({ ...tool, description: 'Adds two numbers.' })).not.toBe(hash)
  expect(schemaHash({ ...tool, parameters: { type: 'object' } })).not.toBe(hash)
})
