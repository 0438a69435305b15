import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { AuditPage, AuditRow } from '../../core/storage/ledger.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

async function auditYard() {
  const server = await openToolServer({
    hello: async () => 1,
    broken: async () => {
      throw new Error('It broke')
    },
  })
  const acme = { 'x-api-key': await server.key('acme', 'operator') }
  const globex = { 'x-api-key': await server.key('globex', 'operator') }
  const whole = { 'x-api-key': await server.key('hq', 'operator', ['observe', 'installation']) }
  const page = async (query: string, headers = acme) =>
    (await (await server.get(`/audit${query}`, headers)).json()) as AuditPage
  return { ...server, acme, globex, whole, page, call: server.call }
}

describe('GET /audit', () => {
  test('has the fields of the sample in docs/reference/server.md', async () => {
    const { call, page, acme } = await auditYard()
    await call('hello', {}, acme)
    const text = await readFile(new URL('../../../docs/reference/server.md', import.meta.url), 'utf8')
    const sample = /^\$ curl -s '[^']+\/audit\?limit=1'\n(.+)$/m.exec(text)?.[1] ?? ''
    expect(Object.keys(JSON.parse(sample).rows[0])).toEqual(Object.keys((await page('?limit=1')).rows[0] ?? {}))
  })

  test('lists matching calls, newest first', async () => {
    const { call, page, acme, installation } = await auditYard()
    await call('hello', { secret: 'parameter' }, acme)
    await call('broken', {}, acme)
    await call('none', {}, acme)
    const { rows, next } = await page('')
    expect(rows.map(({ tool }) => tool)).toEqual(['none', 'broken', 'hello'])
    expect(next).toBeUndefined()
    expect(JSON.stringify(rows)).not.toContain('parameter')
    const tools = async (query: string) => (await page(query)).rows.map(({ tool }) => tool)
    expect(await tools('?tool=hello')).toEqual(['hello'])
    expect(await tools('?outcome=success')).toEqual(['hello'])
    expect(await tools('?error_code=TOOL_NOT_FOUND')).toEqual(['none'])
    expect(await tools(`?caller=${rows[0]?.caller}`)).toHaveLength(3)
    expect(await tools('?caller=nobody')).toEqual([])
    expect(await tools('?run_id=none')).toEqual([])
    const now = new Date(installation.clock.wall() + 60_000).toISOString()
    expect(await tools(`?to=${now}&from=2020-01-01`)).toHaveLength(3)
    expect(await tools(`?from=${now}`)).toEqual([])
    expect(await tools(`?to=2020-01-01T00:00:00%2B02:00`)).toEqual([])
  })

  test('is paginated', async () => {
    const { call, page, acme } = await auditYard()
    for (let index = 0; index < 5; index++) await call('hello', { index }, acme)
    const seen: AuditRow[] = []
    let cursor = ''
    for (;;) {
      const { rows, next } = await page(`?limit=2${cursor}`)
      seen.push(...rows)
      if (next === undefined) break
      cursor = `&cursor=${encodeURIComponent(next)}`
    }
    expect(seen).toHaveLength(5)
    expect(new Set(seen.map(({ id }) => id)).size).toBe(5)
  })

  test('refuses questions that cannot be answered', async () => {
    const { get, acme } = await auditYard()
    const wrong = [
      'limit=0',
      'limit=1001',
      'limit=many',
      'outcome=maybe',
      'error_code=NONE',
      'from=yesterday',
      'to=2026-13-45',
      'cursor=nonsense',
      'format=xml',
      'tol=hello',
      'tool=a&tool=b',
    ]
    for (const query of wrong) {
      const response = await get(`/audit?${query}`, acme)
      expect([query, response.status]).toEqual([query, 400])
      expect(await response.json()).toMatchObject({ status: 400, error: expect.any(String) })
    }
  })

  test('is that of your tenant; others need the scope installation', async () => {
    const { call, page, get, acme, globex, whole } = await auditYard()
    await call('hello', {}, acme)
    await call('hello', {}, globex)
    expect((await page('')).rows).toMatchObject([{ tenant: 'acme', caller_name: 'acme operator' }])
    for (const tenant of ['globex', '*']) {
      for (const format of ['', '&format=csv', '&format=json']) {
        expect((await get(`/audit?tenant=${tenant}${format}`, acme)).status).toBe(403)
      }
    }
    expect((await page('?tenant=globex', whole)).rows.map(({ tenant }) => tenant)).toEqual(['globex'])
    expect((await page('?tenant=*&type=call', whole)).rows).toHaveLength(2)
  })

  test('is exported as a file without spreadsheet formulas', async () => {
    const { call, get, acme, globex } = await auditYard()
    for (let round = 0; round < 11; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => call('hello', { index }, acme)))
    }
    await call('=cmd()', {}, acme)
    await call('hello', {}, globex)
    const csv = await get('/audit?format=csv&limit=1', acme)
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-\d{4}-\d\d-\d\d\.csv"$/)
    const lines = (await csv.text()).trimEnd().split('\r\n')
    expect(lines).toHaveLength(1_102)
    expect(lines[1]).toContain(",'=cmd(),")
    const json = await get('/audit?format=json&tool=hello', acme)
    expect(json.headers.get('content-disposition')).toMatch(/\.json"$/)
    const rows = (await json.json()) as AuditRow[]
    expect(rows).toHaveLength(1_100)
    expect(new Set(rows.map(({ tenant }) => tenant))).toEqual(new Set(['acme']))
  })
})
