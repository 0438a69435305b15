import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { installationFolder } from '../../fixtures/installation-folder.ts'
import { validationsCompare } from './validations-compare.ts'

const trial = { suite: 'shop', model: 's:m', repetition: 1, about: [], query: 'Ask' }
const report = (outcomes: Readonly<Record<string, 'passed' | 'failed'>>) => ({
  version: 1,
  suites: [{ name: 'shop', hash: 'a', cases: 2 }],
  models: [{ id: 's:m', tokens: 1, cost: null }],
  trials: Object.entries(outcomes).map(([id, outcome]) => ({
    ...trial,
    case: id,
    outcome,
    message: `${id} ${outcome}`,
  })),
})

async function folder() {
  const opened = await installationFolder({})
  const place = dirname(opened.data)
  const files = { before: join(place, 'before.json'), after: join(place, 'after.json') }
  await writeFile(files.before, JSON.stringify(report({ pay: 'passed', list: 'passed' })))
  await writeFile(files.after, JSON.stringify(report({ pay: 'failed', list: 'passed' })))
  return { ...opened, ...files }
}

test('lists the cases of two report files that differ, and what the difference means', async () => {
  const { toolyard, before, after } = await folder()
  const { code, out, err } = await toolyard('validations', 'compare', before, after)
  expect(code).toBe(0)
  expect(out.split('\n')[0]).toMatch(/^CHANGE +SUITE +CASE +MODEL +BASELINE +CONTENDER +WHY$/)
  expect(out.trimEnd().split('\n').slice(1)).toEqual([
    expect.stringMatching(/^worse +shop +pay +s:m +1 of 1 +0 of 1 +pay failed$/),
  ])
  expect(err).toContain('0 better, 1 worse, 1 the same')
  expect(err).toContain('No certain difference: −50.0 percentage points')
  const all = await toolyard('validations', 'compare', before, after, '--all')
  expect(all.out.trimEnd().split('\n')).toHaveLength(3)
})

test('compares a suite run of the server with a file, as JSON', async () => {
  const { json, serve, after } = await folder()
  const server = await serve()
  const id = '0b9e9a3e-6f3a-4a7e-9a62-6a4f2f0f7f11'
  const job = { id, tenant: 'local', caller: null, tool: 'toolyard/suites', params: {}, timeout_ms: 1, created_at: '' }
  await server.storage.jobs.create(job)
  const result = { success: true, result: report({ pay: 'passed' }), tool_name: 'x', execution_time_ms: 1 } as const
  await server.storage.jobs.end(id, 'done', result, '')
  await server.close()
  expect(await json((terminal, options) => validationsCompare(terminal, id, after, options))).toMatchObject({
    verdict: 'no_difference',
    counts: { better: 0, worse: 1, same: 0, other: 1 },
    cases: [
      { case: 'pay', change: 'worse' },
      { case: 'list', baseline: null },
    ],
  })
})

test.each([
  ['none.json', `"none.json" can't be read: ENOENT.`],
  ['0b9e9a3e-6f3a-4a7e-9a62-6a4f2f0f7f11', 'There is no suite run'],
])('refuses %s', async (name, message) => {
  const { run, after } = await folder()
  const failed = await run((terminal, options) => validationsCompare(terminal, name, after, options))
  expect(failed).toMatchObject({ code: 2, err: expect.stringContaining(message) })
})

test('refuses a file that is not a report', async () => {
  const { run, after, data } = await folder()
  const other = join(dirname(data), 'other.json')
  await writeFile(other, '[1]')
  const failed = await run((terminal, options) => validationsCompare(terminal, after, other, options))
  expect(failed).toMatchObject({ code: 2, err: expect.stringContaining('is not a report') })
})
