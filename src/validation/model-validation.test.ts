import { mkdtempSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ModelValidation } from '../core/storage/validation-store.ts'
import { captureLog, ManualClock } from '../testing/stand-ins.ts'
import { MemoryValidations, ModelValidationError, ModelValidationTracker } from './model-validation.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolyard-validation-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const MODEL = 'openai:gpt-4o'

describe('recording', () => {
  test('a model that was never tested is neither tested nor validated', async () => {
    const tracker = new ModelValidationTracker()
    expect(await tracker.getStatus(MODEL)).toEqual({
      model_id: MODEL,
      tested: false,
      validated: false,
      test_count: 0,
      success_count: 0,
      last_tested: null,
      test_history: [],
    })
    expect(tracker.isValidated(MODEL)).toBe(false)
    expect(await tracker.getAllValidations()).toEqual([])
  })

  test('says at once whether a model is validated, after it has read its store', async () => {
    const store = new MemoryValidations()
    const [writer, reader] = [new ModelValidationTracker({ store }), new ModelValidationTracker({ store })]
    await writer.recordSuccess(MODEL)
    expect(() => reader.isValidated(MODEL)).toThrow('await getAllValidations() first')
    await reader.getAllValidations()
    expect(reader.isValidated(MODEL)).toBe(true)
    await reader.recordFailure(MODEL, 'wrong tool')
    expect(reader.isValidated(MODEL)).toBe(false)
    const file = join(folder, 'at-once.json')
    await writer.recordSuccess('openai:other')
    await writer.save(file)
    const fresh = new ModelValidationTracker()
    expect(fresh.isValidated('openai:other')).toBe(false)
    await fresh.load(file)
    expect([fresh.isValidated('openai:other'), fresh.isValidated(MODEL)]).toEqual([true, false])
  })

  test('recording returns the whole status, with time and details', async () => {
    const clock = new ManualClock()
    const tracker = new ModelValidationTracker({ clock })
    expect(await tracker.recordSuccess(MODEL, { tools: ['get_weather'] })).toMatchObject({
      tested: true,
      validated: true,
      test_count: 1,
      success_count: 1,
    })
    clock.advance(60_000)
    expect(await tracker.recordFailure(MODEL, new Error('It answered without the tool'))).toEqual({
      model_id: MODEL,
      tested: true,
      validated: false,
      test_count: 2,
      success_count: 1,
      last_tested: '2026-01-01T00:01:00.000Z',
      test_history: [
        { timestamp: '2026-01-01T00:00:00.000Z', success: true, details: { tools: ['get_weather'] } },
        { timestamp: '2026-01-01T00:01:00.000Z', success: false, error: 'It answered without the tool' },
      ],
    })
    expect(await tracker.getStatus(MODEL)).toMatchObject({ test_count: 2, validated: false })
  })

  test('4 of 5 passed tests validate a model, 3 of 4 do not', async () => {
    const tracker = new ModelValidationTracker()
    const said: boolean[] = []
    const note = async (record: Promise<ModelValidation>) => void said.push((await record).validated)
    await note(tracker.recordFailure(MODEL, 'wrong tool'))
    for (let passed = 1; passed <= 4; passed++) await note(tracker.recordSuccess(MODEL))
    await note(tracker.recordFailure(MODEL, 'wrong tool'))
    expect(said).toEqual([false, false, false, false, true, false])
    expect(tracker.isValidated(MODEL)).toBe(false)
  })

  test('counts models separately, and lists them by name', async () => {
    const tracker = new ModelValidationTracker()
    await tracker.recordSuccess('ollama:llama3.2:3b')
    await tracker.recordFailure('anthropic:claude', 'no call')
    await tracker.recordSuccess('__proto__')
    const all = await tracker.getAllValidations()
    expect(all.map(({ model_id, validated }) => [model_id, validated])).toEqual([
      ['__proto__', true],
      ['anthropic:claude', false],
      ['ollama:llama3.2:3b', true],
    ])
  })

  test('separates the tenants of one store', async () => {
    const store = new MemoryValidations()
    const [a, b] = ['a', 'b'].map((tenant) => new ModelValidationTracker({ store, tenant }))
    await a?.recordSuccess(MODEL)
    expect(a?.isValidated(MODEL)).toBe(true)
    expect(await b?.getStatus(MODEL)).toMatchObject({ tested: false })
    expect(await b?.getAllValidations()).toEqual([])
  })

  test('loses no record when many are made at once', async () => {
    const tracker = new ModelValidationTracker()
    const made = Array.from({ length: 500 }, (_, index) =>
      index % 5 === 0 ? tracker.recordFailure(MODEL, 'late') : tracker.recordSuccess(MODEL, { index }),
    )
    const counts = (await Promise.all(made)).map(({ test_count }) => test_count)
    expect(new Set(counts).size).toBe(500)
    expect(await tracker.getStatus(MODEL)).toMatchObject({ test_count: 500, success_count: 400, validated: true })
  })

  test('keeps the last hundred tests, and counts the others', async () => {
    const tracker = new ModelValidationTracker()
    for (let index = 0; index < 130; index++) await tracker.recordSuccess(MODEL, index)
    const { test_count, test_history } = await tracker.getStatus(MODEL)
    expect([test_count, test_history.length, test_history[0]?.details]).toEqual([130, 100, 30])
  })

  test('is not affected by later changes to the arguments', async () => {
    const tracker = new ModelValidationTracker()
    const details = { tools: ['get_weather'] }
    const record = await tracker.recordSuccess(MODEL, details)
    details.tools.push('other')
    ;(record.test_history as unknown[]).length = 0
    ;((await tracker.getAllValidations())[0]?.test_history as unknown[]).length = 0
    expect(await tracker.getStatus(MODEL)).toMatchObject({ test_history: [{ details: { tools: ['get_weather'] } }] })
  })

  const circle: Record<string, unknown> = {}
  circle.self = circle
  test.each([
    ['an empty name', '', undefined],
    ['a name with a line break', 'openai:gpt\n4o', undefined],
    ['a name that is too long', 'm'.repeat(201), undefined],
    ['a name that is not a string', 7, undefined],
    ['details that are not JSON', MODEL, circle],
    ['details that are a function', MODEL, () => {}],
    ['details that are too large', MODEL, 'x'.repeat(70_000)],
  ])('%s is rejected, and nothing is recorded', async (_, model, details) => {
    const tracker = new ModelValidationTracker()
    await expect(tracker.recordSuccess(model as string, details)).rejects.toThrow(ModelValidationError)
    expect(await tracker.getAllValidations()).toEqual([])
  })

  test('accepts a string, an error, a value or nothing as the reason of a failure, and shortens it', async () => {
    const tracker = new ModelValidationTracker()
    for (const error of ['text', new Error('thrown'), { code: 7 }, undefined, 'x'.repeat(5_000)]) {
      await tracker.recordFailure(MODEL, error, error === 'text' ? { query: 'weather?' } : undefined)
    }
    const { test_history } = await tracker.getStatus(MODEL)
    expect(test_history.map(({ error }) => error?.length ?? error)).toEqual([4, 6, 10, undefined, 2_000])
    expect(test_history[0]).toMatchObject({ error: 'text', details: { query: 'weather?' } })
    expect(test_history[2]?.error).toBe('{"code":7}')
  })
})

describe('files', () => {
  test('load replaces the records with saved ones', async () => {
    const file = join(folder, 'saved.json')
    const first = new ModelValidationTracker()
    await first.recordSuccess(MODEL, { tools: ['get_weather'] })
    await first.recordFailure('ollama:llama3.2:3b', 'no call')
    await first.save(file)
    const second = new ModelValidationTracker()
    await second.recordSuccess('gone:soon')
    await second.load(file)
    expect(await second.getAllValidations()).toEqual(await first.getAllValidations())
    // Recording continues from there.
    expect(await second.recordFailure(MODEL, 'no call')).toMatchObject({ test_count: 2, validated: false })
  })

  test('concurrent saves leave one complete file', async () => {
    const inner = mkdtempSync(join(folder, 'many-'))
    const file = join(inner, 'saved.json')
    const trackers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const tracker = new ModelValidationTracker()
        await tracker.recordSuccess(`m:${index}`, 'x'.repeat(10_000))
        return tracker
      }),
    )
    await Promise.all(trackers.map((tracker) => tracker.save(file)))
    expect(await readdir(inner)).toEqual(['saved.json'])
    const loaded = new ModelValidationTracker()
    await loaded.load(file)
    expect(await loaded.getAllValidations()).toHaveLength(1)
  })

  test('saving to a missing folder names the file, and leaves nothing behind', async () => {
    const file = join(folder, 'nowhere', 'saved.json')
    const saved = new ModelValidationTracker().save(file)
    await expect(saved).rejects.toThrow(ModelValidationError)
    await expect(saved).rejects.toThrow(`could not be saved in "${file}": there is no such file or folder`)
  })

  test('load derives the status from the counts', async () => {
    const file = join(folder, 'believed.json')
    const timestamp = '2026-01-01T00:00:00.000Z'
    const one = { model_id: MODEL, test_count: 1, success_count: 0, test_history: [{ timestamp, success: false }] }
    await writeFile(file, JSON.stringify({ validations: [{ ...one, validated: true, last_tested: 'never', more: 1 }] }))
    const tracker = new ModelValidationTracker()
    await tracker.load(file)
    expect(await tracker.getStatus(MODEL)).toEqual({ ...one, tested: true, validated: false, last_tested: timestamp })
  })

  const good = { timestamp: '2026-01-01T00:00:00.000Z', success: true }
  const record = { model_id: MODEL, test_count: 1, success_count: 1, test_history: [good] }
  const of = (change: object): string => JSON.stringify({ validations: [{ ...record, ...change }] })
  test.each([
    ['no JSON', '{"validations": [', "it isn't JSON"],
    ['nothing', '', "it isn't JSON"],
    ['another document', '[]', 'it isn\'t an object with a list "validations"'],
    ['a list of something else', '{"validations": [7]}', "validations[0] isn't an object"],
    ['a model without a name', of({ model_id: '' }), "validations[0].model_id isn't a model name"],
    ['a count below zero', of({ test_count: -1 }), "validations[0].test_count isn't a count"],
    ['a count that is text', of({ test_count: '1' }), "validations[0].test_count isn't a count"],
    ['more passed than made', of({ success_count: 2 }), "validations[0].success_count isn't a number from 0 to 1"],
    ['no history', of({ test_history: {} }), "validations[0].test_history isn't a list"],
    ['an empty history', of({ test_history: [] }), "validations[0].test_history doesn't match the counts"],
    ['a history of more', of({ test_history: [good, good] }), "validations[0].test_history doesn't match the counts"],
    [
      'a history of others',
      of({ test_history: [{ ...good, success: false }] }),
      "validations[0].test_history doesn't match the counts",
    ],
    [
      'a test without a time',
      of({ test_history: [{ ...good, timestamp: 'soon' }] }),
      "validations[0].test_history[0].timestamp isn't a date",
    ],
    [
      'a test without an end',
      of({ test_history: [{ ...good, success: 1 }] }),
      "validations[0].test_history[0].success isn't true or false",
    ],
    [
      'an error that is not a string',
      of({ test_history: [{ ...good, error: 7 }] }),
      "validations[0].test_history[0].error isn't a string",
    ],
    ['a model twice', JSON.stringify({ validations: [record, record] }), `the model "${MODEL}" appears twice`],
  ])('a file with %s is rejected and changes nothing', async (_, text, problem) => {
    const file = join(folder, 'bad.json')
    await writeFile(file, text)
    const tracker = new ModelValidationTracker()
    await tracker.recordSuccess(MODEL)
    const before = await tracker.getAllValidations()
    const loaded = tracker.load(file)
    await expect(loaded).rejects.toThrow(ModelValidationError)
    await expect(loaded).rejects.toThrow(`"${file}" could not be loaded: ${problem}. Nothing was changed.`)
    expect(await tracker.getAllValidations()).toEqual(before)
  })

  test('S14 a missing file is logged, and changes nothing', async () => {
    const log = captureLog()
    const tracker = new ModelValidationTracker({ log })
    await tracker.recordSuccess(MODEL)
    await tracker.load(join(folder, 'none.json'))
    expect(await tracker.getAllValidations()).toHaveLength(1)
    expect(log.lines).toMatchObject([{ level: 'warn', message: 'There is no file of model tests yet' }])
  })

  test('a saved file is readable JSON with the records', async () => {
    const file = join(folder, 'readable.json')
    const tracker = new ModelValidationTracker()
    const shown = await tracker.recordSuccess(MODEL)
    await tracker.save(file)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ validations: [shown] })
  })
})

test.each([
  [{ tenent: 'acme' }, 'unknown option "tenent". Did you mean "tenant"?'],
  [{ store: {} }, 'store must be an object with list(), record() and replace(), not an object'],
  [{ tenant: 5 }, 'tenant must be a string that is not empty, not 5'],
])('a tracker is not made with %j', (options, problem) => {
  expect(() => new ModelValidationTracker(options as object)).toThrow(
    new TypeError(`ModelValidationTracker: ${problem}`),
  )
})
