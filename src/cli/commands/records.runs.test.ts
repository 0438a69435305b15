import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSuite } from '../../validation/load-suite.ts'
import type { Terminal } from '../common/terminal.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { CALCULATE } from '../fixtures/toolyard.ts'
import { type RunsSaveOptions, runsList, runsReplay, runsSave, runsShow } from './records.ts'

const CONFIG = { tools: { enabled: true, registry: [CALCULATE] } }
const QUESTION = 'What is 20% of 80?'

/** A folder in whose store there is a run of the model in the box. */
async function asked(config: object = {}) {
  const opened = await installationFolder({ ...CONFIG, ...config })
  const server = await opened.serve()
  const chat = await server.manager.getChat()
  const context = { ...server.localContext('rest'), runId: 'run-1' }
  await chat.answer({ message: QUESTION, model: 'mini:v1', context })
  await server.close()
  return opened
}

const save = (options: RunsSaveOptions) => (terminal: Terminal) => runsSave(terminal, 'run-1', options)

describe('runs', () => {
  test('lists and shows runs', async () => {
    const { run, toolyard } = await asked()
    const listed = await toolyard('runs', 'list')
    expect(listed.out).toMatch(
      /^ID +TIME +MODEL +END +CALLS +MS +QUESTION\nrun-1 +\S+Z +mini:v1 +stop +1 +\d+ +What is/,
    )
    const { out } = await run((terminal) => runsShow(terminal, 'run-1', {}))
    expect(out).toMatch(/^mini:v1, \S+, \d+ ms, ended by stop\nQuestion: What is 20% of 80\?\n1\. model/)
    expect(out).toContain('1. calculate { "expression": "80 * 0.2" }')
    expect(out).toMatch(/Answer: 20% of 80 is 16\.\n$/)
  })

  test('of a model, with an end, or of another tenant', async () => {
    const { json } = await asked()
    const count = async (options: object) => (await json((terminal) => runsList(terminal, options))).runs.length
    expect(await count({ model: 'mini:v1', stopReason: 'stop', limit: '1' })).toBe(1)
    expect(await count({ model: 'other:model' })).toBe(0)
    expect(await count({ stopReason: 'error' })).toBe(0)
    expect(await count({ tenant: 'acme' })).toBe(0)
  })

  test('saved as a cassette can be replayed, and one that was changed fails', async () => {
    const { run, json, toolyard, data } = await asked()
    const file = join(data, 'one.cassette.json')
    expect(await run(save({ out: file }))).toEqual({ code: 0, out: '', err: `Wrote ${file}.\n` })
    const replayed = await toolyard('runs', 'replay', file)
    expect(replayed).toMatchObject({
      code: 0,
      out: '20% of 80 is 16.\n',
      err: 'Replayed in strict mode (turns: 2, calls: 1, unused: 0).\n',
    })
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('{\\"expression\\":\\"80 * 0.2\\"}', '{}'))
    for (const loose of [false, true]) {
      const failed = await run((terminal) => runsReplay(terminal, file, { loose }))
      expect(failed).toMatchObject({ code: 1, out: '' })
      expect(failed.err).toContain('calculate is called with {}, but the cassette has calculate with {"expression"')
    }
    const document = await json((terminal) => runsReplay(terminal, file, {}))
    expect(document).toMatchObject({ mode: 'strict', same: false, error: expect.any(String) })
  })

  test('saved as a case is a suite that the same answers pass', async () => {
    const { run, data, serve } = await asked()
    const definitions = (await serve()).manager.getRegistry().definitions()
    const line = await run(save({ asCase: true }))
    for (const name of ['cases.json', 'cases.jsonl']) {
      const file = join(data, name)
      await run(save({ asCase: true, out: file }))
      const { cases } = await loadSuite(file, { definitions })
      expect(cases).toMatchObject([{ id: 'run-run-1', about: ['calculate'], mocks: { calculate: { result: 16 } } }])
      const call = (expression: string) => ({ tool: 'calculate', params: { expression } })
      const judge = (expression: string) => cases[0]?.judge([{ calls: [call(expression)], answer: '' }])
      expect(judge('80 * 0.2')).toEqual({ passed: true })
      expect(judge('80 * 2')).toMatchObject({ passed: false, kind: 'wrong_value' })
      if (name === 'cases.jsonl') expect(await readFile(file, 'utf8')).toBe(line.out)
    }
  })

  test('without contents are no cassettes', async () => {
    const { run } = await asked({ storage: { runs: false } })
    expect(await run(save({}))).toMatchObject({
      code: 2,
      err: expect.stringContaining("Run 'run-1' can't be replayed"),
    })
  })

  test.each([
    ['a run that is not there', (terminal: Terminal) => runsShow(terminal, 'x', {}), "Tenant 'local' has no run 'x'"],
    [
      'a limit that is none',
      (terminal: Terminal) => runsList(terminal, { limit: '0' }),
      '--limit takes a whole number from 1',
    ],
    ['a file that is not there', (terminal: Terminal) => runsReplay(terminal, 'x.json', {}), 'There is no such file'],
    [
      'a file that is no cassette',
      (terminal: Terminal) => runsReplay(terminal, 'toolyard.config.json', {}),
      "isn't a cassette",
    ],
  ])('%s is wrong usage', async (_, work, problem) => {
    const { run } = await installationFolder(CONFIG)
    expect(await run(work)).toEqual({ code: 2, out: '', err: expect.stringContaining(problem) })
  })
})
