import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toolyard } from '../../src/cli/fixtures/toolyard.ts'
import { silentLog } from '../../src/core/log.ts'
import { DOCS, OWN_TENANT } from '../../src/core/storage/knowledge-store.ts'
import { call, event } from '../../src/storage/fixtures/call-entry.ts'
import { EMBEDDER, third, unit, whole } from '../../src/storage/fixtures/given-knowledge.ts'
import { run } from '../../src/storage/ledger/fixtures/open-ledger.ts'
import { openPostgresSide } from '../../src/storage/postgres/postgres-copy.ts'
import type { Storage } from '../../src/storage/sql/engine.ts'
import { openSqliteSide } from '../../src/storage/sqlite/sqlite-copy.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { FULL } from '../setup/full.ts'
import { startPgvector } from '../setup/start-pgvector.ts'
import { ask, type Databases, startDatabases } from './databases.ts'
import { answer, claimOf, job, settings } from './samples.ts'

const folder = mkdtempSync(join(tmpdir(), 'storage-copy-'))
const source = join(folder, 'source')
const withVectors = join(folder, 'with-vectors')
let databases: Databases
let url: string

beforeAll(async () => {
  databases = await startDatabases()
  url = await databases.create()
  await fill(source, null)
  await fill(withVectors, EMBEDDER)
})

afterAll(async () => {
  await databases.stop()
  rmSync(folder, { recursive: true })
})

const open = (place: string, instance: string = randomUUID()): Promise<Storage> => {
  const options = place.startsWith('postgres:') ? { url: place, folder: '' } : { folder: place }
  return hostStorage({ ...options, instance, keepDays: 7 }, { log: silentLog })
}

const using = async <T>(place: string, work: (storage: Storage) => Promise<T>): Promise<T> => {
  const storage = await open(place)
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

/** More rows than fit in a page, in two chains, of every kind that is copied. */
async function fill(place: string, embedder: typeof EMBEDDER | null): Promise<void> {
  await using(place, async (storage) => {
    const { ledger, keys, settings: stored, validations, toolUse, once, jobs, chats, knowledge, sessions } = storage
    const calls = Array.from({ length: 1_100 }, (_, index) =>
      call({ durationMs: index + 0.25, tool: `tool-${index % 7}` }),
    )
    const runs = Array.from({ length: 30 }, (_, index) =>
      run({ id: `run-${index}`, started_at: new Date().toISOString() }),
    )
    await ledger.append(calls, runs, [event()])
    await keys.create({ ...KEY, id: 'a', hash: 'ha' })
    await keys.create({ ...KEY, id: 'b', hash: 'hb', scopes: ['tools'], calls_per_minute: 2.5 })
    await keys.revoke('b', '2026-01-02T00:00:00.000Z')
    await keys.revokeUser({ id: 'user:acme/mallory', tenant: 'acme' }, 1_760_000_000_000)
    await sessions.start({ hash: 's', caller: 'a', expires_at: Date.now() + 60_000, ends_at: Date.now() + 60_000 }, 5)
    await stored.put(settings('acme'))
    await stored.put({ kind: 'tenant', name: 'acme', value: { ü: true } })
    await validations.record('acme', 'mini:v1', { timestamp: '2026-01-01T00:00:00.000Z', success: true })
    await toolUse.add([{ tenant: 'acme', ...TOOL_USE }])
    await once.claim(claimOf('done'))
    await once.settle(claimOf('done'), answer)
    await once.claim(claimOf('lost'))
    await once.claim({ ...claimOf('expired'), expiresAt: Date.now() - 1 })
    await jobs.create(job('ended'))
    await jobs.end('ended', 'done', answer, new Date().toISOString())
    await chats.add(CHAT, { messageId: 'a', messages: '["ü"]' })
    await chats.add(CHAT, { messageId: 'b', messages: '[]' })
    await knowledge.open('acme', 'dropped', embedder)
    await knowledge.put(whole('x', ['gone'], { collection: 'dropped' }))
    await knowledge.open('acme', 'docs', embedder)
    await knowledge.put(whole('old', ['an older stone'], { version: '0' }))
    const texts = Array.from({ length: 600 }, (_, index) => ({
      position: index,
      text: `stone number${index}`,
      start: index,
      end: index + 1,
      heading: index === 0 ? 'Quarry' : '',
      ...(embedder !== null && index % 2 === 0 && { vector: unit(index + 1, 2, 3, -0.1) }),
    }))
    await knowledge.put(whole('old', [], { metadata: { lang: 'en', kind: 'a "b"' }, chunks: texts }))
    await knowledge.put(third('half', '1', 0))
    await knowledge.keepVectors(EMBEDDER.id, [{ hash: 'h', vector: unit(1, 2, 3, 4) }])
    await knowledge.drop('acme', 'dropped')
    // Servers store Toolyard's own docs with vectors.
    await knowledge.open(OWN_TENANT, DOCS, EMBEDDER)
    const page = { position: 0, text: 'a page', start: 0, end: 6, heading: '', vector: unit(1, 2, 3, 4) }
    await knowledge.put(whole('page', [], { tenant: OWN_TENANT, chunks: [page] }))
  })
  await using(place, ({ ledger }) => ledger.append([call()], []))
}

const CHAT = { tenant: 'acme', caller: 'a', chat: 'chat' }

const KEY = {
  tenant: 'acme',
  name: 'ci',
  role: 'user',
  scopes: null,
  tools: ['get_*'],
  models: null,
  calls_per_minute: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
  revoked_at: null,
  created_by: null,
} as const

const TOOL_USE = {
  model_id: 'mini:v1',
  tool: 'add',
  schema_hash: 'aa',
  suite: { trials: 2, successes: 1 },
  run: { trials: 1, successes: 1 },
  last_used: '2026-01-01T00:00:00.000Z',
  failure_kinds: { wrong_type: 1 },
  failures: [],
}

/** What callers read from a store. */
const contents = (place: string) =>
  using(
    place,
    async ({ ledger, runs, keys, settings, validations, toolUse, once, jobs, chats, knowledge, sessions }) => {
      const { chains, ...verified } = await ledger.verify()
      const query = { tenant: 'acme', collection: 'docs', most: 20 }
      const search = async (filter?: Record<string, string>) => {
        const hits = await knowledge.byVector({ ...query, vector: unit(1, 2, 3, 4), ...(filter && { filter }) })
        return hits.map(({ score, ...hit }) => ({ ...hit, score: score.toFixed(5) }))
      }
      const audit = []
      for (
        let page = await ledger.audit({ tenant: undefined, limit: 1_000 });
        ;
        page = await ledger.audit({ tenant: undefined, limit: 1_000, cursor: page.next })
      ) {
        audit.push(...page.rows)
        if (page.next === undefined) break
      }
      return {
        chains,
        verified,
        audit,
        runs: (await runs.list({ tenant: 'acme', limit: 100 })).runs,
        run: await runs.get('acme', 'run-7'),
        keys: await keys.list(),
        users: await keys.users(),
        settings: [await settings.list('limits'), await settings.list('tenant')],
        validations: await validations.list('acme'),
        toolUse: await toolUse.list('acme'),
        once: [
          await once.claim(claimOf('done')),
          await once.claim(claimOf('lost')),
          await once.claim(claimOf('lost', 'x')),
        ],
        jobs: await jobs.list('acme', 10),
        chats: await chats.turns(CHAT),
        figures: await ledger.executions({ tenant: 'acme', window: '24h' }),
        collections: await knowledge.collections('acme'),
        byText: (await knowledge.byText({ ...query, text: 'number17' })).map(({ score: _, ...hit }) => hit),
        byHeading: (await knowledge.byText({ ...query, text: 'quarry' })).map(({ score: _, ...hit }) => hit),
        byVector: [await search(), await search({ lang: 'en' }), await search({ lang: 'de' })],
        waiting: await knowledge.withoutVector('acme', 'docs', 100),
        known: await knowledge.knownVectors(EMBEDDER.id, ['h']),
        session: await sessions.get('s'),
      }
    },
  )

const copy = (to: string, ...more: string[]) => toolyard(['storage', 'copy', '--to', to, '--json', ...more])

test('a store moves to PostgreSQL and back with everything in it', async () => {
  const there = await contents(source)
  const back = join(folder, 'back')
  const env = { TOOLYARD_DATA: source }
  const { code, out, err } = await toolyard(['storage', 'copy', '--to', url, '--json'], { env })
  expect(code, out).toBe(0)
  // On a slow machine it reports its progress.
  expect(err.replace(/^… \d+ of \d+ rows: \w+\n/gm, '')).toBe('')
  expect(JSON.parse(out)).toMatchObject({
    ok: true,
    from: source,
    tables: {
      audit: 1_102,
      keys: 2,
      users: 1,
      once: 2,
      runs: 30,
      knowledge_chunks: 602,
      knowledge_vectors: 0,
      jobs: 1,
    },
    audit: { chains: 2, rows: 1_102, unsealed: 0, faults: [] },
  })
  expect(out).not.toContain(new URL(url).password || 'no password')
  const expected = { ...there, session: undefined }
  expect(await contents(url)).toEqual(expected)
  expect((await copy(back, '--from', url)).code).toBe(0)
  expect(await contents(back)).toEqual(expected)
  expect(readFileSync(join(back, 'audit.key'), 'utf8')).toBe(readFileSync(join(source, 'audit.key'), 'utf8'))
  // New rows get new ids.
  for (const place of [url, back]) {
    await using(place, async ({ ledger, knowledge }) => {
      await ledger.append([call()], [])
      await knowledge.put(third('half', '1', 1))
      expect(await knowledge.put(third('half', '1', 2))).toEqual({ complete: true, chunks: 6 })
      expect((await ledger.verify()).faults).toEqual([])
    })
  }
})

test.runIf(FULL)('vectors move to a database with pgvector and back', async () => {
  const { url: pgvector, stop } = await startPgvector()
  const back = join(folder, 'vectors-back')
  try {
    const { code, out } = await copy(pgvector, '--from', withVectors)
    expect(code, out).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ tables: { knowledge_chunks: 602, knowledge_vectors: 300 } })
    const again = await copy(back, '--from', pgvector)
    expect(again.code, again.out).toBe(0)
  } finally {
    await stop()
  }
  expect(await contents(back)).toEqual({ ...(await contents(withVectors)), session: undefined })
})

test('every table of both engines is copied or left out on purpose', async () => {
  const sides = [await openSqliteSide(source, false), await openPostgresSide(await databases.create(), true)]
  const [sqlite, postgres] = sides.map(({ tables }) =>
    [...tables].map(([name, { columns, key }]) => [name, Object.keys(columns).sort(), key]).sort(),
  )
  for (const side of sides) await side.close()
  expect(sqlite).toEqual(postgres)
})

describe('a copy is refused', () => {
  test('into a store that is not empty', async () => {
    const used = join(folder, 'used')
    await using(used, ({ settings: stored }) => stored.put(settings('acme')))
    rmSync(join(used, 'audit.key'))
    const { code, out } = await copy(used, '--from', source, '--resume')
    expect({ code, out }).toMatchObject({
      code: 1,
      out: expect.stringContaining('is not empty. It has rows in settings.'),
    })
  })

  test('while a server uses one of the stores', async () => {
    const server = await open(source)
    const { code, out } = await copy(join(folder, 'busy'), '--from', source)
    await server.close()
    expect({ code, out }).toMatchObject({ code: 1, out: expect.stringContaining('uses the source') })
  })

  test('while jobs wait', async () => {
    const waiting = join(folder, 'waiting')
    await using(waiting, ({ jobs }) => jobs.create(job('queued')))
    const { code, out } = await copy(join(folder, 'without-jobs'), '--from', waiting)
    expect({ code, out }).toMatchObject({ code: 1, out: expect.stringContaining('1 job that did not end') })
  })

  test('if the audit keys differ', async () => {
    const other = join(folder, 'other')
    await using(other, async () => {})
    expect((await copy(other, '--from', source)).out).toContain('The target has another audit key')
    const env = { TOOLYARD_AUDIT_KEY: 'x'.repeat(32) }
    const { out } = await toolyard(['storage', 'copy', '--from', source, '--to', join(folder, 'keyed'), '--json'], {
      env,
    })
    expect(out).toContain('sealed with another key')
  })

  test.each([
    ['a folder without a store', () => ['--from', join(folder, 'nothing'), '--to', join(folder, 'x')], 'no store'],
    ['vectors into a database without pgvector', () => ['--from', withVectors, '--to', url], 'install pgvector'],
    ['an address with one slash', () => ['--to', 'postgres:/root:hidden@db/x'], '--to takes an address'],
    ['an address without slashes', () => ['--to', 'postgres:root:hidden@db'], '--to takes an address'],
    ['an address that is not valid', () => ['--to', 'postgres://root:hidden@db:port/x'], '--to takes an address'],
    ['another protocol', () => ['--to', 'mysql://root:hidden@db/x'], '--to takes an address'],
    [
      'a database that does not answer',
      () => ['--from', source, '--to', 'postgres://a:b@127.0.0.1:1/x'],
      'address in --to',
    ],
  ])('%s', async (_name, words, message) => {
    const { code, out } = await toolyard(['storage', 'copy', '--json', ...words()])
    expect(code).not.toBe(0)
    expect(out).toContain(message)
    expect(out).not.toContain('hidden')
  })
})

test('an interrupted copy is refused by servers and continued with --resume', async () => {
  const target = await databases.create()
  await openPostgresSide(target, true).then((side) => side.close())
  // The first chunk cannot be written, so the copy stops before the last table is complete.
  await ask(target, 'ALTER TABLE toolyard.knowledge_chunks ADD CONSTRAINT stop CHECK (position < 500)')
  expect((await copy(target, '--from', source)).code).toBe(1)
  await ask(target, 'ALTER TABLE toolyard.knowledge_chunks DROP CONSTRAINT stop')
  await expect(open(target)).rejects.toThrow('The store is an incomplete copy')
  expect((await copy(target, '--from', source)).out).toContain('continue it with --resume')
  expect((await copy(target, '--from', join(folder, 'used'), '--resume')).code).toBe(1)
  const { code, out } = await copy(target, '--from', source, '--resume')
  expect(code, out).toBe(0)
  expect((await contents(target)).byText).toHaveLength(1)
})

test('a change in the source is copied as it is, and the exit code is 1', async () => {
  const changed = join(folder, 'changed')
  await using(changed, ({ ledger }) => ledger.append([call(), call()], []))
  const database = new DatabaseSync(join(changed, 'toolyard.db'))
  database.exec("UPDATE audit SET tool = 'other' WHERE seq = 1")
  database.close()
  const { code, out, err } = await toolyard(['storage', 'copy', '--from', changed, '--to', join(folder, 'same')])
  expect(code).toBe(1)
  expect(out).toMatch(/^audit +2$/m)
  expect(err).toContain('the source has the same faults')
})
