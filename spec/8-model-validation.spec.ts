import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ModelValidationTracker, silentLog } from 'toolyard'
import { ManualClock } from 'toolyard/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Installation } from '../src/app/installation.ts'
import { validate } from '../src/cli/commands/validate/validate.ts'
import { installationFolder } from '../src/cli/fixtures/installation-folder.ts'
import { openTestServer } from '../src/server/fixtures/open-server.ts'
import { openPage as open } from '../test/browser/open-browser.ts'
import { WITH_PLAIN_MODELS } from '../test/browser/shipped-config.ts'
import { openaiModel, withServer } from './fixtures/server.ts'

const MODEL = 'ollama:llama3.2:3b'

const weather = {
  name: 'get_weather',
  description: 'Get the current weather of a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
  implementation: { type: 'mock', mock_response: { condition: 'sunny' } },
}

/** Starts a server, records these tests of its first model, and opens its page of models in a browser. */
async function modelsPage(tests: readonly boolean[]) {
  const server = await openTestServer(WITH_PLAIN_MODELS, { local: true })
  onTestFinished(() => server.close())
  const record = async (tests: readonly boolean[]) => {
    for (const success of tests) {
      const error = success ? {} : { error: 'It made up the weather' }
      const body = JSON.stringify({ model: 'mini:v1', success, ...error })
      const headers = { 'content-type': 'application/json' }
      const { status } = await fetch(`${server.url}/api/tools/validate`, { method: 'POST', headers, body })
      expect(status).toBe(200)
    }
  }
  await record(tests)
  const { page } = await open()
  await page.goto(`${server.url}/models`)
  const mini = page.getByRole('list', { name: 'Models' }).locator('> li').filter({ hasText: 'mini:v1' })
  return { page, mini, record }
}

describe('Model validation', () => {
  test('[8.2-1] records the tests of a model', async () => {
    const clock = new ManualClock()
    const tracker = new ModelValidationTracker({ clock })
    await tracker.recordSuccess(MODEL, { tool: 'get_weather' })
    clock.advance(1_000)
    expect(await tracker.recordFailure(MODEL, 'It made up the weather')).toEqual({
      model_id: MODEL,
      tested: true,
      validated: false,
      test_count: 2,
      success_count: 1,
      last_tested: '2026-01-01T00:00:01.000Z',
      test_history: [
        { timestamp: '2026-01-01T00:00:00.000Z', success: true, details: { tool: 'get_weather' } },
        { timestamp: '2026-01-01T00:00:01.000Z', success: false, error: 'It made up the weather' },
      ],
    })
  })

  test('[8.2-2] validates a model from a success rate of 0.8', async () => {
    const tracker = new ModelValidationTracker()
    expect(tracker.isValidated(MODEL)).toBe(false)
    const said: boolean[] = []
    for (const passed of [true, false, true, true, true, false]) {
      const record = passed ? tracker.recordSuccess(MODEL) : tracker.recordFailure(MODEL, 'It called no tool')
      said.push((await record).validated)
    }
    // 1/1, 1/2, 2/3, 3/4, 4/5, 4/6: a success can validate, and a failure can end it.
    expect(said).toEqual([true, false, false, false, true, false])
  })

  test('[8.2-3] shows the badge with the number of trials', async () => {
    const { mini, page, record } = await modelsPage([])
    for (const [tests, sign, trials] of [
      [[], '🔧⚠️', 'no tests yet'],
      [[true, true, true, false], '🔧⚠️', '3 of 4 tests passed'],
      [[true], '🔧✓', '4 of 5 tests passed'],
    ] as const) {
      await record(tests)
      await page.reload()
      await mini.getByText(trials, { exact: true }).waitFor()
      expect(await mini.getByText(sign, { exact: true }).count()).toBe(1)
    }
  })

  test('[8.2-4] records a test only by POST /api/tools/validate and by suites', async () => {
    const model = await openaiModel('It is sunny.', { call: 'get_weather', args: {} }, 'It is sunny.')
    const { ask, post } = await withServer([weather], model.config)
    const testCount = async () => (await ask('/api/models/list')).body.models[0].validation.test_count
    await post('/api/tools/test', { query: 'How is it?', model: 'openai:gpt-4o' })
    await post('/v1/chat/completions', { model: 'openai:gpt-4o', messages: [{ role: 'user', content: 'How is it?' }] })
    expect(await testCount()).toBe(0)
    await post('/api/tools/validate', { model: 'openai:gpt-4o', success: true })
    expect(await testCount()).toBe(1)

    const config = { ...model.config, tools: { enabled: true, registry: [weather] } }
    const { run, serve } = await installationFolder(config)
    const installation = await serve()
    const tracker = new ModelValidationTracker({ store: installation.storage.validations })
    const suite = { models: 'openai:gpt-4o', suite: ['generated'], limit: '2' }
    await run((terminal, options) => validate(terminal, { ...options, ...suite }))
    expect(await tracker.getStatus('openai:gpt-4o')).toMatchObject({
      tested: true,
      test_count: 2,
      test_history: [{ details: { suite: 'generated' } }, { details: { suite: 'generated' } }],
    })
  })

  test('[8.2-5] records nothing by POST /api/tools/test', async () => {
    const model = await openaiModel('It is sunny.')
    const { ask, post } = await withServer([], model.config)
    const run = await post('/api/tools/test', { query: "What's the weather in Paris?", model: 'openai:gpt-4o' })
    expect(run).toMatchObject({ status: 200, body: { content: 'It is sunny.' } })
    const validation = async () => (await ask('/api/models/list')).body.models[0].validation
    expect(await validation()).toMatchObject({ model_id: 'openai:gpt-4o', tested: false, test_count: 0 })
    await post('/api/tools/validate', { model: 'openai:gpt-4o', success: true })
    expect(await validation()).toMatchObject({ tested: true, test_count: 1 })
  })

  test('[8.2-6] counts real runs per model and tool', async () => {
    const model = await openaiModel({ call: 'get_weather', args: { location: 7 } }, 'I cannot.')
    const { ask, post } = await withServer([weather], model.config)
    const query = "What's the weather in Paris?"
    const { run_id } = (await post('/api/tools/test', { query, model: 'openai:gpt-4o' })).body
    expect((await ask('/api/models/list')).body.models[0].validation).toMatchObject({ tested: false, test_count: 0 })
    const { tool_use } = (await ask('/api/validations/tools?model=openai:gpt-4o&tool=get_weather')).body
    expect(tool_use).toMatchObject([
      {
        trials: 1,
        successes: 0,
        rate: 0,
        schema: 'current',
        run: { trials: 1, successes: 0 },
        suite: { trials: 0, successes: 0 },
        failure_kinds: { wrong_type: 1 },
        failures: [{ kind: 'wrong_type', run_id, actual: '{"location":7}' }],
      },
    ])
  })

  test('[8.2-7] keeps records across restarts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolyard-spec-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const open = () => Installation.open({ config: {}, log: silentLog, env: { TOOLYARD_DATA: folder } })
    const before = await open()
    const first = new ModelValidationTracker({ store: before.storage.validations, tenant: 'acme' })
    const recorded = await first.recordSuccess(MODEL, { tool: 'get_weather' })
    await before.close()
    const after = await open()
    onTestFinished(() => after.close())
    const second = new ModelValidationTracker({ store: after.storage.validations, tenant: 'acme' })
    expect(await second.getStatus(MODEL)).toEqual(recorded)
  })

  test('[8.2-8] shows the history of a model', async () => {
    const { mini } = await modelsPage([true, false])
    await mini.getByText('Test history').click()
    const tests = mini.getByRole('list', { name: /^Tests of Mini/ }).getByRole('listitem')
    expect(await tests.count()).toBe(2)
    // The newest first.
    expect(await tests.nth(0).textContent()).toMatch(/^failed.*It made up the weather/)
    expect(await tests.nth(1).textContent()).toMatch(/^passed/)
  })

  test('[8.2-9] warns about models that are not validated', async () => {
    const doubtful = await modelsPage([false])
    await doubtful.page.getByText(/^Not validated on this server yet: Mini, Plain, Bare\./).waitFor()
    const { page } = await modelsPage([true])
    await page.getByText(/^Not validated on this server yet: Plain, Bare\./).waitFor()
  })

  test('[8.2-10] records, reads, saves and loads with ModelValidationTracker', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolyard-spec-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'validations.json')
    const tracker = new ModelValidationTracker()
    expect(await tracker.getStatus(MODEL)).toMatchObject({ tested: false, validated: false })
    await tracker.recordSuccess(MODEL, { tool: 'get_weather' })
    await tracker.recordFailure('openai:gpt-4o', new Error('It called no tool'))
    await tracker.save(file)
    const another = new ModelValidationTracker()
    await another.load(file)
    expect(another.isValidated(MODEL)).toBe(true)
    expect(await another.getStatus('openai:gpt-4o')).toMatchObject({ tested: true, validated: false })
    expect(await another.getAllValidations()).toEqual(await tracker.getAllValidations())
  })
})
