import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toolyard } from '../../src/cli/fixtures/toolyard.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import type { CallEntry, EventEntry } from '../../src/core/storage/ledger.ts'
import { call, event } from '../../src/storage/fixtures/call-entry.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { type Databases, startDatabases } from '../postgres/databases.ts'
import { visible } from './normalized.ts'

const AUDIT_KEY = 'the audit key of the golden files'
const START = Date.UTC(2026, 0, 31, 12)
const at = (seconds: number): number => START + seconds * 1_000

/** Rows with every field, and without those that came later. */
const CALLS: readonly CallEntry[] = [
  call({ at: at(1) }),
  call({ at: at(2), caller: null, source: null, schemaHash: null, params: null, durationMs: 0.123456, attempts: 0 }),
  call({ at: at(3), runId: 'run-1', model: 'mini:v1', code: 'TIMEOUT', unknown: true, attempts: 3 }),
  call({ at: at(4), version: '1.2.0', cost: 5_000, keyId: 'key-2', tool: 'ü "quoted"\n' }),
  call({ at: at(5), tenant: 'other', code: 'APPROVAL_REQUIRED', approval: { id: 'approval-1', params: '{"a":1}' } }),
  call({ at: at(6), nesting: { call_id: 'call-2', parent_id: 'call-1' }, cost: 0 }),
]
const EVENTS: readonly EventEntry[] = [
  event({ at: at(7) }),
  event({ at: at(8), event: 'key.refused', subject: null, detail: null, failed: true, count: 12, caller: null }),
  event({ at: at(9), event: 'approval.decided', params: '{"b":2}', tenant: 'other', source: 'cli' }),
]

const folder = mkdtempSync(join(tmpdir(), 'toolyard-golden-audit-'))
let databases: Databases
beforeAll(async () => {
  databases = await startDatabases()
})
afterAll(async () => {
  await databases.stop()
  rmSync(folder, { recursive: true })
})

/** What two servers store, one after the other, and the ends of their chains. */
async function chains(place: { readonly url?: string; readonly folder: string }): Promise<string> {
  const headsFile = join(place.folder || folder, `heads-${place.url === undefined ? 'sqlite' : 'postgres'}.jsonl`)
  let now = at(60)
  const clock = { ...systemClock, wall: () => now }
  const open = (instance: string) =>
    hostStorage({ ...place, instance, auditKey: AUDIT_KEY, headsFile, keepDays: 36_500 }, { log: silentLog, clock })
  const first = await open('server-1')
  await first.ledger.append(CALLS.slice(0, 4), [], EVENTS.slice(0, 1))
  await first.ledger.append(CALLS.slice(4), [], EVENTS.slice(1))
  await first.close()
  now = at(120)
  const second = await open('server-2')
  await second.ledger.append([call({ at: at(100) })], [])
  await second.close()
  const third = await open('server-3')
  try {
    const { rows } = await third.ledger.audit({ tenant: undefined, limit: 100 })
    const parts = [rows, readFileSync(headsFile, 'utf8').trim().split('\n'), await third.ledger.verify()]
    return parts.map((part) => `${JSON.stringify(part, undefined, 2)}\n`).join('')
  } finally {
    await third.close()
  }
}

describe('rows of the audit log have the same hashes and seals', () => {
  test('in SQLite', async () => {
    await expect(await chains({ folder: join(folder, 'new') })).toMatchFileSnapshot('audit-chains.txt')
  })

  test('in PostgreSQL', async () => {
    await expect(await chains({ url: await databases.create(), folder: '' })).toMatchFileSnapshot('audit-chains.txt')
  })
})

// The compressed database of the servers above, as Toolyard 0.2.0 wrote it. It stands for installations: never write it again.
test('a stored audit log is intact, and its export is the same', async () => {
  const data = join(folder, 'stored')
  const text = readFileSync(new URL('audit-store.txt', import.meta.url), 'utf8')
  mkdirSync(data)
  writeFileSync(join(data, 'toolyard.db'), gunzipSync(Buffer.from(text, 'base64')))
  const env = { TOOLYARD_DATA: data, TOOLYARD_AUDIT_KEY: AUDIT_KEY, TOOLYARD_LOG: 'silent' }
  const lines = ['audit verify', 'audit verify --json', 'audit export', 'audit export --format json', 'audit list']
  const shown: string[] = []
  for (const line of lines) {
    const { code, out, err } = await toolyard(line.split(' '), { env, cwd: folder })
    shown.push(`$ toolyard ${line}\nexit code ${code}\n${out}${err}`)
  }
  await expect(visible(shown.join('\n'))).toMatchFileSnapshot('audit-export.txt')
})
