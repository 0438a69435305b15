import { describe, expect, test, vi } from 'vitest'
import type { AuditFilter } from '../../core/storage/ledger.ts'
import { NOTHING_SHOWN } from '../fixtures/audit-rows.ts'
import { call, openLedger, settle } from './fixtures/open-ledger.ts'

const all: AuditFilter = { tenant: undefined, limit: 100 }

describe('audit', () => {
  test('shows all stored fields of a call', async () => {
    const { ledger, stored } = openLedger()
    await ledger.append(
      [call({ code: 'EXECUTION_ERROR', runId: 'run-1', model: 'mini:one', at: Date.UTC(2026, 0, 1) + 0.9 })],
      [],
    )
    expect((await ledger.audit(all)).rows).toEqual([
      {
        ...NOTHING_SHOWN,
        id: 'server-1:1',
        time: '2026-01-01T00:00:00.000Z',
        tenant: 'acme',
        caller: 'key-1',
        source: 'rest',
        run_id: 'run-1',
        tool: 'weather',
        model: 'mini:one',
        schema_hash: 'schema-1',
        params_hash: stored.rows[0]?.params_hash,
        outcome: 'failure',
        error_code: 'EXECUTION_ERROR',
        duration_ms: 12.5,
        attempts: 1,
        hash: stored.rows[0]?.hash,
      },
    ])
  })

  test('reads one page of a tenant at a time, and those of others meanwhile', async () => {
    const { ledger, tables } = openLedger()
    const { promise, resolve } = Promise.withResolvers<readonly []>()
    const rows = vi.spyOn(tables, 'rows').mockReturnValue(promise)
    const of = (tenant: string | undefined) => ledger.audit({ ...all, tenant })
    const pages = [of('acme'), of('acme'), of('acme'), of('globex'), of(undefined)]
    await settle()
    expect(rows.mock.calls.map(([{ tenant }]) => tenant)).toEqual(['acme', 'globex', undefined])
    rows.mockRejectedValueOnce(new Error('The store is busy'))
    resolve([])
    expect((await Promise.allSettled(pages)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
  })

  test('pages hold every row once, newest first, while more are written', async () => {
    const { ledger } = openLedger()
    const at = (n: number) => Date.UTC(2026, 0, 1) + Math.floor(n / 3)
    await ledger.append(
      Array.from({ length: 10 }, (_, n) => call({ at: at(n) })),
      [],
    )
    const ids: string[] = []
    let next: string | undefined
    do {
      const page = await ledger.audit({ ...all, limit: 4, ...(next !== undefined && { cursor: next }) })
      ids.push(...page.rows.map(({ id }) => id))
      next = page.next
      await ledger.append([call({ at: at(1_000) })], [])
    } while (next !== undefined)
    expect(ids).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((seq) => `server-1:${seq}`))
  })

  test('the last page has no next one, even if it is full', async () => {
    const { ledger } = openLedger()
    await ledger.append([call(), call()], [])
    expect((await ledger.audit({ ...all, limit: 2 })).next).toBeUndefined()
    expect((await ledger.audit({ ...all, limit: 1 })).next).toBeDefined()
  })

  test('a page has 1 to 1,000 rows, whatever is asked for', async () => {
    const { ledger } = openLedger()
    await ledger.append(new Array(1_001).fill(call()), [])
    expect((await ledger.audit({ ...all, limit: 5_000 })).rows).toHaveLength(1_000)
    expect((await ledger.audit({ ...all, limit: 0 })).rows).toHaveLength(1)
  })

  test('a filter reaches the table', async () => {
    const { ledger } = openLedger()
    await ledger.append([call(), call({ tenant: 'other' }), call({ tool: 'b' }), call({ code: 'TIMEOUT' })], [])
    const seqs = async (filter: Partial<AuditFilter>) =>
      (await ledger.audit({ ...all, ...filter })).rows.map(({ id }) => id.split(':')[1])
    expect(await seqs({ tenant: 'other' })).toEqual(['2'])
    expect(await seqs({ tenant: 'acme', tool: 'b' })).toEqual(['3'])
    expect(await seqs({ outcome: 'failure', errorCode: 'TIMEOUT' })).toEqual(['4'])
  })

  test.each([
    '',
    'x',
    'bm8',
    Buffer.from('[1,2,3]').toString('base64url'),
    Buffer.from('["1","a",3]').toString('base64url'),
  ])('the cursor "%s" is refused in a sentence', async (cursor) => {
    const { ledger } = openLedger()
    await expect(ledger.audit({ ...all, cursor })).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: `cursor: "${cursor}" is not a cursor of an earlier page`,
    })
  })
})
