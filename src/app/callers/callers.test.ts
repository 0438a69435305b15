import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { silentLog } from '../../core/log.ts'
import type { KeyStore, StoredKey, StoredUser } from '../../core/storage/key-store.ts'
import { migrate } from '../../storage/sqlite/migrations.ts'
import { SqliteDatabase } from '../../storage/sqlite/sqlite-database.ts'
import { sqliteEngine } from '../../storage/sqlite/sqlite-engine.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { Callers, hashApiKey, newApiKey } from './callers.ts'
import { Tenants } from './tenants.ts'
import { basisOf, userId } from './users.ts'

/** A store of these keys and users. */
const storeOf = (list: KeyStore['list'], users: KeyStore['users'] = async () => []): KeyStore =>
  ({ list, users, formerSecrets: async () => [] }) as unknown as KeyStore

async function callersYard() {
  const clock = new ManualClock()
  const callers = new Callers(new Tenants(), clock)
  let stored: StoredKey[] = []
  const load = () => callers.load(storeOf(async () => stored))
  const add = async (more: Partial<StoredKey> = {}): Promise<string> => {
    const key = newApiKey()
    stored.push({
      id: `key-${stored.length}`,
      hash: hashApiKey(key),
      tenant: 'acme',
      name: 'a key',
      role: 'user',
      scopes: null,
      tools: null,
      models: null,
      calls_per_minute: null,
      created_at: '2026-01-01T00:00:00Z',
      expires_at: null,
      revoked_at: null,
      created_by: null,
      ...more,
    })
    await load()
    return key
  }
  const revokeAll = async () => {
    stored = stored.map((key) => ({ ...key, revoked_at: '2026-01-01T00:00:00Z' }))
    await load()
  }
  return { callers, clock, add, revokeAll }
}

describe('Callers', () => {
  test('finds the caller of a key', async () => {
    const { callers, add } = await callersYard()
    const key = await add({ id: 'mine' })
    for (let time = 0; time < 3; time++) expect(callers.find(key)).toMatchObject({ id: 'mine', tenant: 'acme' })
    for (const other of ['', key.slice(1), `${key} `, key.toUpperCase(), hashApiKey(key)]) {
      expect(callers.find(other)).toBeUndefined()
    }
  })

  test('tells which keys were revoked and which expire', async () => {
    const { callers, clock, add, revokeAll } = await callersYard()
    const ended: string[][] = []
    const stop = callers.onEnd((ids) => void ended.push([...ids]))
    await add({ id: 'lasting' })
    await add({ id: 'second', expires_at: new Date(clock.wall() + 40 * 86_400_000).toISOString() })
    await add({ id: 'first', expires_at: new Date(clock.wall() + 1_000).toISOString() })
    clock.advance(999)
    expect([ended, callers.isValid('first')]).toEqual([[], true])
    clock.advance(1)
    expect([ended, callers.isValid('first')]).toEqual([[['first']], false])
    clock.advance(40 * 86_400_000)
    await revokeAll()
    expect(ended).toEqual([['first'], ['second'], ['lasting']])
    expect(['first', 'lasting', 'unknown', 'local'].map((id) => callers.isValid(id))).toEqual([
      false,
      false,
      false,
      true,
    ])
    stop()
    expect(clock.pending).toBe(0)
  })

  test('unknown and revoked keys have no rights once there are keys', async () => {
    const { callers, add, revokeAll } = await callersYard()
    const toolsOf = (...ids: (string | null)[]) => ids.map((id) => callers.rightsOf(id, 'acme').tools)
    expect(toolsOf('somebody', 'local', null)).toEqual([undefined, undefined, undefined])
    await add({ id: 'mine', tools: ['get_*'] })
    expect(toolsOf('mine', 'somebody', 'local', null)).toEqual([['get_*'], [], undefined, undefined])
    await revokeAll()
    expect(callers.rightsOf('mine', 'acme')).toMatchObject({ tools: [], models: [] })
  })

  test('revoked and expired keys have no caller', async () => {
    const { callers, clock, add, revokeAll } = await callersYard()
    const lasting = await add()
    const short = await add({ expires_at: new Date(clock.wall() + 1_000).toISOString() })
    expect([callers.find(lasting), callers.find(short)]).not.toContain(undefined)
    clock.advance(1_000)
    expect(callers.find(short)).toBeUndefined()
    expect(callers.find(lasting)).toBeDefined()
    await revokeAll()
    expect(callers.find(lasting)).toBeUndefined()
  })

  test('remembers the last use of a key across reloads', async () => {
    const { callers, clock, add } = await callersYard()
    const used = await add({ id: 'used' })
    await add({ id: 'unused' })
    callers.find(used)
    const at = clock.wall()
    clock.advance(1_000)
    await add({ id: 'later' })
    expect([...callers.lastUses()]).toEqual([['used', at]])
  })

  test('the later of two overlapping loads wins', async () => {
    const { callers, add } = await callersYard()
    const key = await add()
    const old = Promise.withResolvers<readonly StoredKey[]>()
    const slow = callers.load(storeOf(() => old.promise))
    await callers.load(storeOf(async () => []))
    old.resolve([{ hash: hashApiKey(key), role: 'user', revoked_at: null } as StoredKey])
    await slow
    expect(callers.find(key)).toBeUndefined()
  })

  test('a key has the scopes of its role, fewer if restricted, and installation only if named', async () => {
    const { callers, add } = await callersYard()
    const scopes = async (more: Partial<StoredKey>) => [...(callers.find(await add(more))?.scopes ?? [])].sort()
    expect(await scopes({ role: 'user' })).toEqual(['call', 'chat', 'read'])
    expect(await scopes({ role: 'user', scopes: ['read', 'manage'] })).toEqual(['read'])
    expect(await scopes({ role: 'admin', scopes: ['observe', 'installation'] })).toEqual(['installation', 'observe'])
    expect(await scopes({ role: 'admin' })).not.toContain('installation')
  })

  test('a key has the scopes, tools and models of a configured role, and fewer if it is restricted', async () => {
    const { callers, add } = await callersYard()
    callers.configure({ roles: { reader: { scopes: ['read', 'call'], tools: ['get_*'], models: ['mini:*'] } } })
    const whole = callers.find(await add({ role: 'reader' }))
    expect(whole).toMatchObject({ role: 'reader', tools: ['get_*'], models: ['mini:*'] })
    expect([...(whole?.scopes ?? [])]).toEqual(['read', 'call'])
    const { tools = [] } = callers.find(await add({ role: 'reader', tools: ['*_one'] })) ?? {}
    expect(['get_one', 'get_two', 'put_one'].filter((name) => matchesGlobs(tools, name))).toEqual(['get_one'])
  })

  test('ends what the keys of a role run when the role may do less', async () => {
    const { callers, add } = await callersYard()
    const ended: string[][] = []
    onTestFinished(callers.onEnd((ids) => void ended.push([...ids])))
    const configure = (role: object) => callers.configure({ roles: { reader: { scopes: ['read'], ...role } } } as never)
    configure({ tools: ['get_*'] })
    const key = await add({ id: 'mine', role: 'reader' })
    await add({ id: 'other' })
    configure({ tools: ['get_*', 'list_*'], scopes: ['read', 'call'] })
    expect(ended).toEqual([])
    configure({ tools: ['get_*'], scopes: ['read', 'call'] })
    configure({ tools: ['get_*'] })
    configure({ tools: ['get_*'], models: ['mini:*'] })
    expect([ended, callers.find(key)?.id]).toEqual([[['mine'], ['mine'], ['mine']], 'mine'])
  })

  test('ends the keys of a role that is removed from the configuration', async () => {
    const { callers, add } = await callersYard()
    const ended: string[][] = []
    onTestFinished(callers.onEnd((ids) => void ended.push([...ids])))
    callers.configure({ roles: { reader: { scopes: ['read', 'call'] } } })
    const key = await add({ id: 'mine', role: 'reader' })
    await add({ id: 'other' })
    callers.configure({})
    expect([callers.find(key), callers.byId('mine'), callers.isValid('mine')]).toEqual([undefined, undefined, false])
    expect([callers.rightsOf('mine', 'acme').tools, ended]).toEqual([[], [['mine']]])
    expect(callers.former(key)).toMatchObject({ id: 'mine' })
  })
})

describe('users', () => {
  const OIDC = {
    ...{ issuer: 'https://login.example.com', audience: 'a', client_id: 'c', tenant_claim: 't', role_claim: 'r' },
    roles: { staff: 'user', operators: 'operator', admins: 'admin', readers: 'reader' },
  }
  const AUTH = { auth: { oidc: OIDC } }
  const basis = basisOf(OIDC, 'staff')
  const ada = { tenant: 'acme', subject: 'ada', name: 'Ada', role: 'user', basis, issued_at: 5 }
  const operator = { role: 'operator', basis: basisOf(OIDC, 'operators') }
  const HOUR = 3_600_000

  test('are stored once an hour and with each new role, and end 13 hours after that', async () => {
    const { callers, clock } = await callersYard()
    callers.configure(AUTH)
    const stored: StoredUser[] = []
    const ended: string[][] = []
    onTestFinished(callers.onEnd((ids) => void ended.push([...ids])))
    const signIn = (more = {}) => callers.signIn({ ...ada, ...more }, 5, async (user) => void stored.push(user))
    expect(await signIn()).toMatchObject({ id: 'user:acme/ada', user: 'ada', expiresAt: 5 })
    await signIn()
    expect(stored).toMatchObject([{ role: 'user', expires_at: clock.wall() + 13 * HOUR }])
    clock.advance(HOUR + 1)
    await signIn()
    await signIn(operator)
    expect(stored.map(({ role }) => role)).toEqual(['user', 'user', 'operator'])
    expect(callers.rightsOf('user:acme/ada', 'acme')).toMatchObject({ user: 'ada', tools: undefined })
    expect([callers.nameOf('user:acme/ada'), callers.byId('user:acme/ada')?.role]).toEqual(['Ada', 'operator'])
    const older = await signIn({ role: 'admin', basis: basisOf(OIDC, 'admins'), issued_at: 4 })
    expect([older?.role, callers.byId('user:acme/ada')?.role, stored.length]).toEqual(['admin', 'operator', 3])
    clock.advance(13 * HOUR)
    expect([ended, callers.isValid('user:acme/ada')]).toEqual([[['user:acme/ada']], false])
    expect(callers.byId('user:acme/ada')).toBeUndefined()
    // A run that was approved in time goes on, for a day.
    const end = clock.wall()
    const woken = (at: number) => callers.wokenAt('user:acme/ada', at)?.role
    expect([woken(end - 1), woken(end + 1)]).toEqual(['operator', undefined])
    callers.configure({ ...AUTH, roles: {} })
    expect(woken(end - 1)).toBe('operator')
    clock.advance(24 * HOUR)
    expect(woken(end - 1)).toBeUndefined()
  })

  test('of other servers are loaded, and none counts without auth.oidc or its role', async () => {
    const { callers, clock } = await callersYard()
    const role = { role: 'reader', basis: basisOf(OIDC, 'readers') }
    const stored = { ...ada, ...role, id: 'user:acme/ada', expires_at: clock.wall() + HOUR, revoked_at: null }
    await callers.load(
      storeOf(
        async () => [],
        async () => [stored],
      ),
    )
    const isValid = () => callers.byId(stored.id) !== undefined
    expect(isValid()).toBe(false)
    callers.configure({ ...AUTH, roles: { reader: { scopes: ['read'] } } })
    expect([isValid(), callers.keyed, callers.hasKeys]).toEqual([true, true, false])
    callers.configure(AUTH)
    expect([isValid(), callers.isKnown(stored.id), callers.isKnown('user:42')]).toEqual([false, true, false])
    callers.configure({ roles: { reader: { scopes: ['read'] } } })
    expect([isValid(), callers.isKnown(stored.id)]).toEqual([false, false])
  })

  test.each<[string, object]>([
    ['the issuer', { issuer: 'https://other.example.com' }],
    ['the audience', { audience: 'b' }],
    ['the claim of the tenant', { tenant_claim: 'org' }],
    ['the claim of the role', { role_claim: 'groups' }],
    ['the claim of the user', { user_claim: 'oid' }],
    ['the role of the claim', { roles: { staff: 'operator', operators: 'user' } }],
    ['that the claim has a role', { roles: { operators: 'user' } }],
  ])('end if the configuration changes %s', async (_what, change) => {
    const { callers } = await callersYard()
    callers.configure(AUTH)
    const ended: string[][] = []
    onTestFinished(callers.onEnd((ids) => void ended.push([...ids])))
    await callers.signIn(ada, Number.POSITIVE_INFINITY, async () => {})
    callers.configure({ auth: { oidc: { ...OIDC, roles: { auditors: 'user', ...OIDC.roles } } } })
    expect([callers.isValid('user:acme/ada'), ended]).toEqual([true, []])
    const changed = { ...OIDC, ...change }
    callers.configure({ auth: { oidc: changed } })
    expect([callers.isValid('user:acme/ada'), ended]).toEqual([false, [['user:acme/ada']]])
    // An older token that the new configuration accepts counts again.
    const again = { role: changed.roles.operators, basis: basisOf(changed, 'operators'), issued_at: 4 }
    await callers.signIn({ ...ada, ...again }, Number.POSITIVE_INFINITY, async () => {})
    expect(callers.isValid('user:acme/ada')).toBe(true)
  })

  test('have ids that are safe, bounded and different', () => {
    const long = Array.from({ length: 2_000 }, (_, n) => `${'ü'.repeat(200)}${n}`)
    // The hash of a long name may look like an encoded character.
    const odd = long.find((sub) => hash('sha256', sub).startsWith('25')) ?? ''
    const subjects = ['a b', 'a%20b', 'a/b', 'ü'.repeat(255), `${'ü'.repeat(254)}u`]
    const ids = [...subjects, odd, `%${hash('sha256', odd).slice(2)}`].map((sub) => userId('acme', sub))
    expect(ids.slice(0, 3)).toEqual(['user:acme/a%20b', 'user:acme/a%2520b', 'user:acme/a%2Fb'])
    expect(new Set(ids).size).toBe(7)
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{1,330}$/)
  })
})

test('a key that is revoked while the disk is full is refused at once, and after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolyard-full-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const open = async () => {
    const database = new SqliteDatabase(folder)
    migrate(database)
    const clock = new ManualClock(Date.now())
    const { keys, settings, onChange, close } = sqliteEngine(
      database,
      { folder, instance: 'one', keepDays: 7 },
      { log: silentLog, clock },
    )
    const callers = new Callers(new Tenants(), clock)
    await callers.load(keys)
    onChange(() => void callers.load(keys))
    return { database, keys, settings, callers, close }
  }
  const { database, keys, settings, callers, close } = await open()
  const key = newApiKey()
  const given = { id: 'leaked', hash: hashApiKey(key), tenant: 'acme', name: 'ci', role: 'user' as const, scopes: null }
  const times = { created_at: '2026-01-01T00:00:00Z', expires_at: null, revoked_at: null, created_by: null }
  await keys.create({ ...given, ...times, calls_per_minute: null, tools: null, models: null } as StoredKey)
  await callers.load(keys)
  expect(callers.find(key)).toMatchObject({ id: 'leaked' })
  const { page_count: pages } = database.get<{ page_count: number }>('PRAGMA page_count') ?? { page_count: 0 }
  database.exec(['PRAGMA max_page_count =', pages].join(' '))
  const fill = async () => {
    for (let n = 0; ; n++) await settings.put({ kind: 'pin', name: `fill-${n}`, value: 'x'.repeat(500) })
  }
  await expect(fill()).rejects.toMatchObject({
    message: expect.stringContaining('the disk of the data folder is full'),
  })
  expect(await keys.revoke('leaked', '2026-01-02T00:00:00Z')).toBe(true)
  await expect.poll(() => callers.find(key)).toBeUndefined()
  await close()
  const again = await open()
  expect(again.callers.find(key)).toBeUndefined()
  expect(again.callers.keyed).toBe(true)
  await again.close()
})
