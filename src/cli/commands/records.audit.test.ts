import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { call } from '../../storage/fixtures/call-entry.ts'
import { hostStorage } from '../../storage/worker/host-storage.ts'
import type { Terminal } from '../common/terminal.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { mock } from '../fixtures/toolyard.ts'
import { type AuditListOptions, auditList, auditVerify } from './records.ts'

const CONFIG = { tools: { enabled: true, registry: [mock('weather', 'rain')] } }

const list = (options: AuditListOptions) => (terminal: Terminal) => auditList(terminal, options)

/** A folder in whose audit there are these calls: tenant and tool, in order. */
async function audited(calls: readonly (readonly [tenant: string, tool: string])[]) {
  const opened = await installationFolder(CONFIG)
  const server = await opened.serve()
  for (const [tenant, tool] of calls) {
    await server.manager.getExecutor().execute(tool, {}, { tenant, caller: `${tenant}-key`, source: 'rest' })
  }
  await server.close()
  return opened
}

test('costs are listed by tool, with what is unknown, as of the server', async () => {
  const paid = { ...mock('search', 'found'), cost: { per_call: 0.25 } }
  const registry = [mock('weather', 'rain'), paid]
  const { toolyard, serve } = await installationFolder({
    tools: { enabled: true, registry },
    costs: { currency: 'EUR' },
  })
  const rows = async (...options: string[]) => JSON.parse((await toolyard('costs', '--json', ...options)).out).rows
  expect(await toolyard('costs')).toMatchObject({
    code: 0,
    err: expect.stringMatching(/^No costs from \S+ to \S+\.\n$/),
  })
  const server = await serve()
  for (const tool of ['search', 'weather', 'search']) {
    await server.manager.getExecutor().execute(tool, {}, { tenant: 'acme', source: 'rest' })
  }
  await server.close()
  const { out, err } = await toolyard('costs', '--period', 'day')
  expect(out).toMatch(/^NAME +COST +CALLS +UNKNOWN\nsearch +0.5 EUR +2 +0\nweather +unknown +1 +1\n$/)
  expect(err).toMatch(/^0.5 EUR in all, \S+ to \S+, and 1 of unknown cost\.\n$/)
  expect(await rows('--by', 'tenant')).toEqual([{ name: 'acme', cost: 0.5, calls: 3, unknown_calls: 1 }])
  expect(await rows('--by', 'tool', '--tenant', 'other')).toEqual([])
  expect(await toolyard('costs', '--from', '2026-13-01')).toMatchObject({
    code: 2,
    err: expect.stringContaining('is not a day'),
  })
})

describe('audit list', () => {
  test('shows the newest calls of all tenants, and on stderr how to go on', async () => {
    const { toolyard, json } = await audited([
      ['acme', 'weather'],
      ['other', 'weather'],
      ['acme', 'nothing'],
    ])
    const { out, err } = await toolyard('audit', 'list', '--limit', '2')
    const [head, first, second] = out.trimEnd().split('\n')
    expect(head).toMatch(/^TIME +TENANT +CALLER +SOURCE +TOOL +OUTCOME +MS$/)
    expect(first).toMatch(/^\d{4}-\S+Z +acme +acme-key +rest +nothing +TOOL_NOT_FOUND +\d+$/)
    expect(second).toMatch(/ other +other-key +rest +weather +success +\d+$/)
    const cursor = /^More rows: --cursor (\S+)\n$/.exec(err)?.[1] as string
    const { rows, next } = await json(list({ cursor }))
    expect(rows).toMatchObject([{ tenant: 'acme', tool: 'weather', outcome: 'success' }])
    expect(next).toBeUndefined()
  })

  test('filters', async () => {
    const { json } = await audited([
      ['acme', 'weather'],
      ['other', 'weather'],
      ['acme', 'nothing'],
    ])
    const found = async (options: AuditListOptions) => {
      const { rows } = await json(list(options))
      return rows.map(({ tenant, tool }: { tenant: string; tool: string }) => `${tenant} ${tool}`)
    }
    expect(await found({ tenant: 'acme' })).toEqual(['acme nothing', 'acme weather'])
    expect(await found({ tool: 'weather', caller: 'other-key' })).toEqual(['other weather'])
    expect(await found({ outcome: 'failure' })).toEqual(['acme nothing'])
    expect(await found({ errorCode: 'TOOL_NOT_FOUND' })).toEqual(['acme nothing'])
    expect(await found({ from: '2999-01-31' })).toEqual([])
    expect(await found({ to: '2020-01-31T00:00:00Z' })).toEqual([])
    expect(await found({ run: 'none' })).toEqual([])
  })

  test.each([
    [{ from: 'yesterday' }, "--from takes a time such as 2026-01-31 or 2026-01-31T12:00:00Z, not 'yesterday'."],
    [{ to: '2026-13-45' }, '--to takes a time'],
    [{ limit: '0' }, "--limit takes a whole number from 1 to 1000, not '0'."],
  ])('%j is wrong usage', async (options, problem) => {
    const { run } = await installationFolder()
    expect(await run(list(options))).toEqual({ code: 2, out: '', err: expect.stringContaining(problem) })
  })

  test('rejects an unknown outcome', async () => {
    const { toolyard } = await installationFolder()
    const { code, err } = await toolyard('audit', 'list', '--outcome', 'fine')
    expect([code, err]).toEqual([2, expect.stringContaining('Allowed choices are success, failure, unknown.')])
  })

  test('rejects an invalid cursor', async () => {
    const { toolyard } = await audited([['acme', 'weather']])
    const { code, err } = await toolyard('audit', 'list', '--cursor', 'nonsense')
    expect([code, err]).toEqual([1, expect.stringContaining('nonsense')])
  })

  test('of an installation that has no store is empty, and makes none', async () => {
    const { run, json, toolyard, data } = await installationFolder()
    expect(await run(list({}))).toEqual({ code: 0, out: '', err: 'No matching rows.\n' })
    expect(await json(list({}))).toEqual({ rows: [] })
    expect(await toolyard('audit', 'export', '--json')).toMatchObject({ code: 0, out: '[\n]\n' })
    expect(await run(auditVerify)).toMatchObject({ code: 0 })
    expect(existsSync(data)).toBe(false)
  })
})

describe('audit export', () => {
  test('prints every row that fits, over all pages, as CSV or as JSON', async () => {
    const { toolyard } = await audited([
      ...Array.from({ length: 1_200 }, () => ['acme', 'weather'] as const),
      ['other', 'weather'],
    ])
    const csv = await toolyard('audit', 'export', '--tenant', 'acme')
    const lines = csv.out.trimEnd().split('\r\n')
    expect([csv.code, csv.err, lines.length]).toEqual([0, '', 1_201])
    expect(lines[0]).toMatch(/^id,time,tenant,/)
    const json = await toolyard('audit', 'export', '--format', 'json')
    const rows = JSON.parse(json.out)
    expect(rows).toHaveLength(1_201)
    expect(rows[0]).toMatchObject({ tenant: 'other', tool: 'weather', params_hash: expect.any(String) })
  })

  test('--json means JSON, and not CSV', async () => {
    const { toolyard } = await audited([['acme', 'weather']])
    expect(JSON.parse((await toolyard('audit', 'export', '--json')).out)).toHaveLength(1)
    expect(await toolyard('audit', 'export', '--json', '--format', 'csv')).toMatchObject({ code: 2 })
  })
})

describe('audit verify', () => {
  test('verifies an intact log', async () => {
    const { toolyard, json } = await audited([
      ['acme', 'weather'],
      ['other', 'weather'],
    ])
    expect(await toolyard('audit', 'verify')).toEqual({
      code: 0,
      out: 'The audit log is intact.\n',
      err: 'Checked 2 rows in 1 chain, 1 seal; 0 not sealed yet, 0 expired.\n',
    })
    expect(await json(auditVerify)).toMatchObject({ ok: true, rows: 2, chains: 1, faults: [] })
  })

  test.each([
    ['changed', 'UPDATE audit SET at = 5 WHERE seq = 2'],
    ['removed', 'DELETE FROM audit WHERE seq = 2'],
  ])('names the row that was %s, and ends with 1', async (_, statement) => {
    const { toolyard, json, data } = await audited([
      ['acme', 'weather'],
      ['acme', 'weather'],
      ['acme', 'weather'],
    ])
    const database = new DatabaseSync(join(data, 'toolyard.db'))
    database.exec(statement)
    database.close()
    const { code, out, err } = await toolyard('audit', 'verify')
    expect([code, out]).toEqual([1, expect.stringMatching(/^[\w-]{36}, row 2: /)])
    expect(err).toMatch(/The audit log is not intact: \d+ faults?\.\n$/)
    const { ok, faults } = await json(auditVerify)
    expect([ok, faults[0]]).toEqual([false, expect.objectContaining({ at: 2 })])
  })

  test('names rows of an ended server that have no seal, apart from faults', async () => {
    const { toolyard, json, data } = await audited([])
    const options = { folder: data, instance: 'killed', keepDays: 7 }
    const storage = await hostStorage(options, { log: silentLog })
    await storage.ledger.append([call({ at: Date.now() - 4 * 3_600_000 })], [])
    await storage.close()
    const database = new DatabaseSync(join(data, 'toolyard.db'))
    database.exec("DELETE FROM seals; DELETE FROM settings WHERE kind = 'audit'")
    database.close()
    const { code, out, err } = await toolyard('audit', 'verify')
    const problem = 'Row 1 has no seal, although the server has ended'
    expect([code, err]).toEqual([0, expect.stringContaining(`killed, row 1: ${problem}\n`)])
    expect(out).toBe(
      'The audit log is intact, except for rows that should have been sealed: they may have been changed.\n',
    )
    expect(await json(auditVerify)).toMatchObject({ ok: true, overdue: [{ chain: 'killed', at: 1, problem }] })
  })

  test('compares with the ends of sections in a file', async () => {
    const { toolyard, json, data } = await audited([['acme', 'weather']])
    const { rows } = await json(list({}))
    const [{ id, hash }] = rows as [{ id: string; hash: string }]
    const [chain, seq] = [id.slice(0, -2), 1]
    const file = join(data, 'heads.jsonl')
    const verify = () => toolyard('audit', 'verify', '--heads', file)
    expect(await verify()).toMatchObject({ code: 2, err: expect.stringContaining('cannot be read (ENOENT)') })
    writeFileSync(file, 'no head\n')
    expect(await verify()).toMatchObject({ code: 2, err: expect.stringContaining('has no end of a section') })
    writeFileSync(file, `${JSON.stringify({ chain, seq, hash })}\n`)
    expect(await verify()).toMatchObject({ code: 0, err: expect.stringContaining('Compared with 1 end of sections.') })
    const database = new DatabaseSync(join(data, 'toolyard.db'))
    database.exec('DELETE FROM audit; DELETE FROM seals')
    database.close()
    const problem = 'Row 1 was sealed, and is missing: the end of the chain was removed'
    const removed = 'All chains: Seal 1 of 1 is missing: it was removed'
    expect(await verify()).toMatchObject({ code: 1, out: `${removed}\n${chain}, row 1: ${problem}\n` })
    rmSync(join(data, 'toolyard.db'))
    expect(await verify()).toMatchObject({ code: 1, out: `${chain}, row 1: ${problem}\n` })
  })
})
