import { describe, expect, test } from 'vitest'
import type { AuditPage, AuditRow } from '../../core/storage/ledger.ts'
import { NOTHING_SHOWN } from '../../storage/fixtures/audit-rows.ts'
import { auditCsv, auditJson, csvCell, type PageOf } from './audit-export.ts'

const row = (id: string, tool = 'hello'): AuditRow => ({
  ...NOTHING_SHOWN,
  id,
  time: '2026-01-01T00:00:00.000Z',
  tenant: 'acme',
  source: 'rest',
  tool,
  params_hash: 'abc',
  outcome: 'success',
  duration_ms: 1.5,
  attempts: 1,
  cost: 0.25,
  hash: 'def',
})

const pagesOf =
  (...pages: AuditRow[][]): PageOf =>
  async ({ cursor = '0' }): Promise<AuditPage> => {
    const index = Number(cursor)
    return { rows: pages[index] ?? [], ...(index + 1 < pages.length && { next: String(index + 1) }) }
  }

const text = async (export_: AsyncGenerator<string>) => (await Array.fromAsync(export_)).join('')

describe('the audit as a file', () => {
  test('has all pages, as comma-separated values', async () => {
    const lines = (await text(auditCsv(pagesOf([row('1'), row('2')], [row('3')])))).split('\r\n')
    expect(lines[0]).toBe(
      'id,time,tenant,caller,source,run_id,tool,model,schema_hash,params_hash,outcome,error_code,duration_ms,attempts,event,subject,detail,version,cost,key,hash',
    )
    expect(lines.slice(1)).toEqual([
      ...['1', '2', '3'].map(
        (id) => `${id},2026-01-01T00:00:00.000Z,acme,,rest,,hello,,,abc,success,,1.5,1,,,,,0.25,,def`,
      ),
      '',
    ])
  })

  test('has all pages, as one JSON array', async () => {
    expect(JSON.parse(await text(auditJson(pagesOf([row('1'), row('2')], [row('3')]))))).toEqual(
      ['1', '2', '3'].map((id) => row(id)),
    )
    expect(JSON.parse(await text(auditJson(pagesOf([], [row('1')]))))).toEqual([row('1')])
    expect(JSON.parse(await text(auditJson(pagesOf([]))))).toEqual([])
  })

  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['＝1+1', "'＝1+1"],
    [' =1', "' =1"],
    ['\t=1', '"\'\t\'=1"'],
    ['\r=1', '"\'\r\'=1"'],
    ['a;=1', '"a;\'=1"'],
    ['a\t-1', '"a\t\'-1"'],
    ['a;b', '"a;b"'],
    ['a=1', 'a=1'],
    ['two, "three"\n', '"two, ""three""\n"'],
    ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
    ['', ''],
  ])('a name such as %j is not a spreadsheet formula', (value, cell) => {
    expect(csvCell(value)).toBe(cell)
  })
})
