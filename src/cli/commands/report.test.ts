import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { mock } from '../fixtures/toolyard.ts'

const CONFIG = {
  tools: { enabled: true, registry: [mock('weather', 'rain')] },
  objectives: [{ tool: 'weather', success: 0.9 }, { p95_ms: 1_000 }],
}

async function used() {
  const opened = await installationFolder(CONFIG)
  const server = await opened.serve()
  await server.manager.getExecutor().execute('weather', {}, { tenant: 'acme', caller: 'key-1', source: 'rest' })
  await server.close()
  return opened
}

test('objectives shows the error budget of each, and exits with 1 while an alert is open', async () => {
  const { toolyard, data, file } = await used()
  const { code, out } = await toolyard('objectives')
  const [head, ...lines] = out.trimEnd().split('\n')
  expect([code, head]).toEqual([
    0,
    expect.stringMatching(/^OBJECTIVE +CALLS +BAD +BUDGET LEFT +BURN 1H +BURN 3D +ALERT$/),
  ])
  expect(lines).toEqual([
    expect.stringMatching(/^weather success 0\.9 30d +1 +0 +100\.0 % +0\.0 +0\.0 +-$/),
    expect.stringMatching(/^\* p95_ms 1000 30d +1 +0 +100\.0 % +0\.0 +0\.0 +-$/),
  ])
  const alert = { objective: 'weather success 0.9 30d', severity: 'fast', opened_at: '2026-01-01', resolved_at: null }
  const state = { evaluated_at: 0, alerts: [{ ...alert, calm_since: null }], reports: [], unsent: null }
  const database = new DatabaseSync(join(data, 'toolyard.db'))
  const insert = database.prepare("INSERT INTO settings (kind, name, value) VALUES ('alerts', 'objectives', ?)")
  insert.run(JSON.stringify(state))
  database.close()
  const open = await toolyard('objectives', '--json')
  expect([open.code, JSON.parse(open.out).alerts]).toEqual([1, [alert]])
  await rm(file)
  expect(await toolyard('objectives')).toMatchObject({ err: expect.stringContaining('No objectives') })
})

test('report writes a file, and exits with 1 if a row was changed', async () => {
  const { toolyard, data, file } = await used()
  const out = join(data, 'report.html')
  expect(await toolyard('report', '--from', '2020-01-01', '--out', out)).toMatchObject({
    code: 0,
    out: '',
    err: expect.stringMatching(/^The oldest row is from .*: nothing was recorded before\.\nThe audit log is intact: /),
  })
  expect(await readFile(out, 'utf8')).toContain('<td>weather</td>')
  const database = new DatabaseSync(join(data, 'toolyard.db'))
  database.exec("UPDATE audit SET tool = 'harmless' WHERE tool = 'weather'")
  database.close()
  const changed = await toolyard('report', '--json', '--config', file)
  expect([changed.code, JSON.parse(changed.out).integrity.faults.length]).toEqual([1, 1])
})

test.each([
  [['--from', '2026-02-01', '--to', '2026-01-01'], '--from must be earlier than --to.'],
  [['--from', 'yesterday'], "--from takes a time such as 2026-01-31 or 2026-01-31T12:00:00Z, not 'yesterday'."],
  [['--json', '--format', 'csv'], '--json and --format csv contradict each other: remove one of them.'],
  [[], 'There is no store yet: "toolyard serve" creates one.'],
])('report %j is refused', async (args, message) => {
  const { toolyard } = await installationFolder(CONFIG)
  const { code, out, err } = await toolyard('report', ...args)
  expect([code, out + err]).toEqual([2, expect.stringContaining(message)])
})
