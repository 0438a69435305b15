import { spawn } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ModelValidationTracker } from '../../../validation/model-validation.ts'
import { ToolUseTracker } from '../../../validation/tool-use/tool-use-tracker.ts'
import { withStore } from '../../common/open.ts'
import { BIN, captureTerminal, ENV, emptyFolder, folder, toolyard } from '../../fixtures/toolyard.ts'
import { textReply, validateSetup, weatherReply } from '../../fixtures/validate-setup.ts'

afterAll(emptyFolder)
describe('toolyard validate', () => {
  test('without an API key, runs the generated suite with the model that ships with Toolyard', async () => {
    const { code, out, err } = await toolyard(['validate', '--limit', '1'])
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('at no cost') })
    expect(out).toMatch(/^generated \(1 case\)\ntool +mini:v1\n/)
    expect(out).toMatch(/\nget_weather +\d+% \(\d\/\d\) ≥\d+%\n/)
    expect(out).toMatch(/\nall +\d+% /)
    expect(err).toContain('mini:v1 is the small model that ships with Toolyard.')
    // It creates no store.
    expect(await readdir(join(folder, '.toolyard'))).toEqual(['validation'])
  })

  test('shows the matrix of the configured models, and calls nothing real', async () => {
    const { server, validate } = await validateSetup(4, { input: 1, output: 1 })
    server.replies = [weatherReply('Paris'), weatherReply('Rome'), weatherReply('Paris')]
    const { code, out, err } = await validate({ concurrency: '1' })
    expect(code).toBe(0)
    expect(out).toContain('paris (4 cases)\ntool     office:m\nweather  75% (3/4) ≥30%\nall      75% (3/4) ≥30%\n')
    expect(out).toContain('Failures of office:m in paris: 1 wrong_value\n')
    expect(out).toMatch(/✗ case 2, office:m: .*Rome.*\n {4}asked {5}What is the weather in Paris\? \(2\)\n/)
    expect(err).toMatch(/^4 trials: about [\d,]+ tokens and 0\.\d+ USD, limited to 1\.00 USD \(--budget\)\.\n/)
    expect(err).toMatch(/Used [\d,]+ tokens for 0\.\d+ USD\.\n/)
    expect(server.requests).toHaveLength(4)
  })

  test('counts in costs.currency', async () => {
    const setup = await validateSetup(1, { input: 1, output: 1 }, { costs: { currency: 'EUR' } })
    const file = join(setup.folder, 'report.html')
    setup.server.replies = [weatherReply('Paris')]
    const { err } = await setup.validate({ report: [file] })
    expect(err).toMatch(/tokens and 0\.\d+ EUR, limited to 1\.00 EUR \(--budget\)/)
    expect(err).toMatch(/Used [\d,]+ tokens for 0\.\d+ EUR\.\n/)
    expect(err + (await readFile(file, 'utf8'))).not.toContain('USD')
  })

  test('limits the tokens of a model without a known price', async () => {
    const { server, validate } = await validateSetup(1)
    server.replies = [weatherReply('Paris')]
    const { err } = await validate()
    expect(err).toContain('The price of office:m is unknown: set it in models[].prices. Its limit is 2,000,000 tokens')
  })

  test('follows --limit, --repeat and --models', async () => {
    const { server, report } = await validateSetup(5)
    server.replies = [weatherReply('Paris')]
    const { trials, suites, models } = await report({ limit: '2', repeat: '3', models: 'office:m,office:n' })
    expect(suites).toMatchObject([{ name: 'paris', cases: 2 }])
    expect(models.map(({ id }: { id: string }) => id)).toEqual(['office:m', 'office:n'])
    expect(trials).toHaveLength(12)
    expect(new Set(trials.map(({ repetition }: { repetition: number }) => repetition))).toEqual(new Set([1, 2, 3]))
  })

  test.each([
    ['0.75', 0, 'Every model passed the gate of 0.75.'],
    ['0.8', 1, 'The gate of 0.8 was not met: office:m reached 0.75 in paris.'],
  ])('--gate %s ends with %i', async (gate, expected, sentence) => {
    const { server, validate } = await validateSetup(4)
    server.replies = [weatherReply('Rome'), weatherReply('Paris')]
    const { code, err } = await validate({ gate })
    expect(code).toBe(expected)
    expect(err).toContain(sentence)
  })

  test('writes reports beside the table, and with --json prints one', async () => {
    const { server, validate, report, folder } = await validateSetup(2)
    server.replies = [weatherReply('Rome')]
    const files = ['deep/r.html', 'r.xml', 'r.json'].map((name) => join(folder, name))
    const { code, err } = await validate({ report: files, gate: '0' })
    expect(code).toBe(0)
    const [html = '', xml = '', json = ''] = await Promise.all(files.map((file) => readFile(file, 'utf8')))
    expect(html).toMatch(/^<!doctype html>/)
    expect(xml).toContain('<testsuite name="paris office:m" tests="2" failures="2"')
    expect(JSON.parse(json)).toMatchObject({ version: 1, complete: true, gate: { threshold: 0, met: true } })
    expect(err).toContain(`Written: ${files[0]}`)
    expect(await report({ gate: '1' })).toMatchObject({ complete: true, gate: { met: false }, trials: [{}, {}] })
  })

  test('escapes control characters from a model', async () => {
    const { server, validate } = await validateSetup(1)
    server.replies = [weatherReply('\u001b]0;title\u0007\u202eevil')]
    const { out, err } = await validate()
    expect(out).toContain('evil')
    expect(out + err).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
  })
})

describe('a model that does not answer', () => {
  test('is left out if its provider is disabled, unless it is named or there is a gate', async () => {
    const { server, file, validate } = await validateSetup(1)
    const config = JSON.parse(await readFile(file, 'utf8'))
    config.providers.closed = { type: 'openai', api_key: '${NOT_SET}' }
    config.models.push({ ...config.models[0], id: 'closed:m' })
    await writeFile(file, JSON.stringify(config))
    server.replies = [weatherReply('Paris')]
    const { code, out, err } = await validate()
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('tool     office:m\n') })
    expect(err).toContain('closed:m is not tested: Provider closed is disabled: the environment variable NOT_SET')
    expect(await validate({ gate: '0.5' })).toMatchObject({ code: 1, out: expect.stringContaining('closed:m') })
    expect(await validate({ models: 'closed:m' })).toMatchObject({ code: 1, out: expect.stringContaining('closed:m') })
  })

  test('is tested with the others if it is mini:v1, and models lists it', async () => {
    const { server, file, validate } = await validateSetup(1)
    const config = JSON.parse(await readFile(file, 'utf8'))
    config.models.push({ ...config.models[0], id: 'mini:v1' })
    await writeFile(file, JSON.stringify(config))
    server.replies = [weatherReply('Paris')]
    expect((await validate()).out).toMatch(/^tool +office:m +mini:v1\n/m)
  })

  test('is not a failure, is explained, and exits with 1', async () => {
    const { server, validate } = await validateSetup(3)
    server.replies = [
      (response) => void response.writeHead(401).end('{"error":{"message":"bad key"}}'),
      weatherReply('Paris'),
    ]
    const { code, out, err } = await validate({ concurrency: '1', gate: '0.1' })
    expect(code).toBe(1)
    expect(out).toContain('all      100% (2/2) ≥34%, 1 not answered\n')
    expect(err).toContain('2 of 3 trials were judged and are stored in')
    const again = await validate({ gate: '1' })
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining('Continuing: 2 of 3 trials are done') })
    expect(server.requests).toHaveLength(4)
  })

  test('is not asked any more after five in a row', async () => {
    const { server, validate } = await validateSetup(20)
    server.replies = [(response) => void response.writeHead(401).end('{"error":{"message":"bad key"}}')]
    const { code, out, err } = await validate({ concurrency: '1' })
    expect({ code, asked: server.requests.length }).toEqual({ code: 1, asked: 5 })
    expect(out).toContain('none judged, 5 not answered, 15 not run')
    expect(err).toMatch(/office:m: Stopped after 5 unanswered trials in a row\. .*office:m/)
  })
})

describe('a run that was broken off', () => {
  test('stops at the budget, and continues with the same command', async () => {
    const { server, validate } = await validateSetup(30, { input: 10, output: 10 })
    server.replies = [weatherReply('Paris')]
    const { code, out, err } = await validate({ budget: '0.05' })
    expect(code).toBe(1)
    expect(out).toMatch(/100% \(\d+\/\d+\) ≥\d+%, \d+ not run/)
    expect(err).toContain('office:m: The budget of 0.05 USD')
    const first = server.requests.length
    expect(first).toBeLessThan(30)
    const again = await validate({ budget: '10' })
    expect(again).toMatchObject({ code: 0, err: expect.stringContaining(`Continuing: ${first} of 30 trials`) })
    expect(server.requests).toHaveLength(30)
    expect(again.out).toContain('100% (30/30)')
  })

  test('by Ctrl-C exits with 130, and the next run continues; a finished run starts over', async () => {
    const { server, suite, folder, data, validate } = await validateSetup(6)
    const held = new Promise<void>((resolve) => {
      server.replies = [weatherReply('Paris'), weatherReply('Paris'), () => resolve()]
    })
    const args = ['validate', '--suite', suite, '--concurrency', '1', '--models', 'office:m']
    const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, env: { ...ENV, TOOLYARD_DATA: data } })
    let err = ''
    child.stderr.on('data', (text) => {
      err += text
    })
    const ended = new Promise((resolve) => child.on('close', resolve))
    await held
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(err).toContain('2 of 6 trials were judged and are stored in')
    server.replies = [weatherReply('Paris')]
    const again = await validate()
    expect(again.err).toContain('Continuing: 2 of 6 trials are done')
    expect([again.code, server.requests.length]).toEqual([0, 3 + 4])
    const anew = await validate()
    expect(anew.err).not.toContain('Continuing')
    expect(server.requests).toHaveLength(7 + 6)
  })

  test('--fresh starts over', async () => {
    const { server, validate } = await validateSetup(10, { input: 10, output: 10 })
    server.replies = [weatherReply('Paris')]
    await validate({ budget: '0.05' })
    const first = server.requests.length
    const { err } = await validate({ fresh: true })
    expect(err).not.toContain('Continuing')
    expect(server.requests).toHaveLength(first + 10)
  })

  test('--out names the file for the trials, and never overwrites another file', async () => {
    const { server, validate, folder, suite } = await validateSetup(2)
    server.replies = [weatherReply('Paris')]
    const out = join(folder, 'trials.jsonl')
    expect((await validate({ out })).code).toBe(0)
    expect((await readFile(out, 'utf8')).trim().split('\n')).toHaveLength(4)
    const { code, err } = await validate({ out: suite, fresh: true })
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("isn't a trial file and was not changed") })
  })
})

describe('the record', () => {
  test('records every trial once if there is a store', async () => {
    const { server, validate, serve, data } = await validateSetup(4)
    await (await serve()).close()
    server.replies = [
      weatherReply('Paris'),
      weatherReply('Rome'),
      (response) => void response.writeHead(401).end('{"error":{"message":"bad key"}}'),
      weatherReply('Paris'),
    ]
    const recorded = () =>
      withStore(captureTerminal({ env: { TOOLYARD_DATA: data } }).terminal, {}, async ({ validations, toolUse }) => {
        const { test_count, success_count } = await new ModelValidationTracker({ store: validations }).getStatus(
          'office:m',
        )
        const uses = await new ToolUseTracker({ store: toolUse }).list()
        return { test_count, success_count, uses: uses.map(({ tool, suite, run }) => ({ tool, suite, run })) }
      })
    expect((await validate({ concurrency: '1' })).code).toBe(1)
    const use = { tool: 'weather', suite: { trials: 3, successes: 2 }, run: { trials: 0, successes: 0 } }
    expect(await recorded()).toMatchObject({ test_count: 3, success_count: 2, uses: [use] })
    expect((await validate()).code).toBe(0)
    expect(await recorded()).toMatchObject({
      test_count: 4,
      success_count: 3,
      uses: [{ suite: { trials: 4, successes: 3 } }],
    })
  })

  test('does not count tools that are not installed', async () => {
    const { server, validate, serve, folder, data } = await validateSetup(1)
    await (await serve()).close()
    server.replies = [textReply('No.')]
    const file = join(folder, 'other.json')
    const other = { name: 'weather', description: 'Another.', parameters: { type: 'object' } }
    await writeFile(file, JSON.stringify([{ query: 'Go', tools: [other], expect: { calls: [{ tool: 'weather' }] } }]))
    expect((await validate({ suite: [file] })).code).toBe(0)
    const uses = await withStore(captureTerminal({ env: { TOOLYARD_DATA: data } }).terminal, {}, ({ toolUse }) =>
      toolUse.list('local'),
    )
    expect(uses).toEqual([])
  })
})

describe('wrong usage ends with 2 and a sentence', () => {
  test.each([
    [{ models: 'nope:x' }, 'Provider nope not found'],
    [{ models: 'nope' }, "Model 'nope' names no provider"],
    [{ suite: ['nowhere.json'] }, 'nowhere.json'],
    [{ gate: '2' }, '--gate takes a rate from 0 to 1'],
  ])('%j', async (options, message) => {
    const { validate } = await validateSetup(1)
    expect(await validate(options)).toEqual({ code: 2, out: '', err: expect.stringContaining(message) })
  })

  test('explains how to get a BFCL data set that is missing', async () => {
    const { validate, folder } = await validateSetup(1)
    vi.stubEnv('TOOLYARD_DATA_SETS', folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { code, err } = await validate({ suite: ['bfcl:simple'] })
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('TOOLYARD_DATA_SETS') })
  })
})

describe('--generate', () => {
  test('prints a suite that can be edited and run', async () => {
    const { validate, folder, server } = await validateSetup(1)
    const { code, out } = await validate({ generate: true })
    expect({ code, asked: server.requests.length }).toEqual({ code: 0, asked: 0 })
    const cases = JSON.parse(out).cases as readonly { id: string }[]
    expect(cases.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['weather/simple', 'mail/simple', 'mail/irrelevance']),
    )
    const file = join(folder, 'mine.json')
    expect(await validate({ generate: true, out: file })).toMatchObject({ code: 0, out: '' })
    expect(await validate({ generate: true, out: file })).toMatchObject({
      code: 2,
      err: expect.stringContaining('already exists'),
    })
    server.replies = [textReply('No.')]
    const ran = await validate({ suite: [file] })
    expect(ran.out).toMatch(/mail +\d+% \(\d\/4\)/)
  })
})
