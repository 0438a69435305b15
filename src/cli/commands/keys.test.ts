import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { newStoredKey } from '../../server/fixtures/new-stored-key.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'

const KEY = /^ty_[\w-]{43}$/

type Options = Readonly<Record<string, string | boolean | readonly string[]>>

/** The options as they are typed: `{ allTenants: false }` is `--no-all-tenants`. */
const typed = (options: Options): string[] =>
  Object.entries(options).flatMap(([name, value]) => {
    const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    if (typeof value === 'boolean') return [`--${value ? '' : 'no-'}${flag}`]
    return [`--${flag}`, ...[value].flat()]
  })

/** The commands with their folder. */
async function yard() {
  const opened = await installationFolder()
  return {
    ...opened,
    run: (words: readonly string[]) => opened.toolyard(...words),
    json: async (words: readonly string[]) => JSON.parse((await opened.toolyard('--json', ...words)).out),
    create: (options: Options) => ['keys', 'create', ...typed(options)],
    list: (options: Options = {}) => ['keys', 'list', ...typed(options)],
    revoke: (id: string) => ['keys', 'revoke', id],
    edit: (id: string, options: Options) => ['keys', 'edit', id, ...typed(options)],
  }
}

describe('keys create', () => {
  test('prints only the key on stdout, and a running server accepts it', async () => {
    const { toolyard, serve } = await yard()
    const server = await serve()
    const words = ['--tenant', 'acme', '--name', 'ci', '--role', 'operator', '--scope', 'read', 'call']
    const { code, out, err } = await toolyard('keys', 'create', ...words)
    expect([code, out.trimEnd()]).toEqual([0, expect.stringMatching(KEY)])
    expect(err).toMatch(
      /^Created key 'ci' for tenant 'acme', role operator\. Its id is [\w-]{36}\.\nThe key is not shown again/,
    )
    await vi.waitFor(() => expect(server.callers.keyed).toBe(true))
    const expected = { tenant: 'acme', name: 'ci', role: 'operator', scopes: new Set(['read', 'call']) }
    expect(server.callers.find(out.trimEnd())).toMatchObject(expected)
  })

  test('keeps the hash and never the key, and lists neither', async () => {
    const { run, json, data, create, list } = await yard()
    const { key, id } = await json(create({ tenant: 'acme' }))
    expect(key).toMatch(KEY)
    for (const file of ['toolyard.db', 'toolyard.db-wal']) {
      const path = join(data, file)
      if (existsSync(path)) expect((await readFile(path)).includes(key)).toBe(false)
    }
    const listed = await run(list())
    const document = JSON.stringify(await json(list()))
    expect(listed.out).toContain(id)
    expect(listed.out + document).not.toContain(key)
    expect(document).not.toContain('hash')
  })

  test('takes scopes, all tenants, a limit and an end, and says all of it as one document', async () => {
    const { json, serve, create } = await yard()
    const before = Date.now()
    const made = await json(
      create({
        role: 'operator',
        scope: ['read', 'observe'],
        allTenants: true,
        tools: ['get_*', 'calculate'],
        models: ['mini:*'],
        callsPerMinute: '60',
        budget: '0.5/day:warn',
        expires: '90d',
      }),
    )
    expect(made).toEqual({
      key: expect.stringMatching(KEY),
      id: expect.any(String),
      tenant: 'local',
      name: `key-${made.id.slice(0, 8)}`,
      role: 'operator',
      scopes: ['read', 'observe', 'installation'],
      tools: ['get_*', 'calculate'],
      models: ['mini:*'],
      calls_per_minute: 60,
      budget: { per: 'day', amount: 0.5, action: 'warn' },
      created_at: expect.any(String),
      created_by: null,
      expires_at: expect.any(String),
    })
    const days = (Date.parse(made.expires_at) - before) / 86_400_000
    expect(days).toBeGreaterThanOrEqual(90)
    expect(days).toBeLessThan(90.1)
    const caller = (await serve()).callers.find(made.key)
    const scopes = new Set(['read', 'observe', 'installation'])
    expect(caller).toMatchObject({ callsPerMinute: 60, scopes, tools: ['get_*', 'calculate'], models: ['mini:*'] })
  })

  test('a key for all tenants has the scopes of its role too', async () => {
    const { json, create } = await yard()
    expect((await json(create({ allTenants: true }))).scopes).toEqual(['read', 'call', 'chat', 'installation'])
  })

  test.each<[Options, string]>([
    [{ budget: '10' }, "--budget takes an amount per day or month, such as 10/month or 0.5/day:warn, not '10'."],
    [{ scope: ['manage'] }, "The role 'user' does not include the scope 'manage', only read, call, chat."],
    [{ tenant: 'a/b' }, "not 'a/b'"],
    [{ name: ' ' }, '--name takes 1 to 100 characters'],
    [{ name: '\u200b' }, '--name takes 1 to 100 characters'],
    [{ name: 'a\nb' }, '--name takes 1 to 100 characters'],
    [{ tools: ['a b'] }, "--tools takes up to 100 patterns of 1 to 200 characters without spaces, not 'a b'."],
    [{ models: Array(101).fill('x') }, '--models takes up to 100 patterns'],
    [{ callsPerMinute: '0' }, "--calls-per-minute takes a whole number from 1 to 10000000, not '0'"],
    [{ expires: 'soon' }, "--expires takes a time in the future, such as 90d, 12h, 30m or 2030-01-31, not 'soon'"],
    [{ expires: '2020-01-31' }, '--expires takes a time in the future'],
    [{ expires: '0d' }, '--expires takes a time in the future'],
  ])('%j is wrong usage, and makes nothing', async (options, problem) => {
    const { run, data, create } = await yard()
    expect(await run(create(options))).toEqual({ code: 2, out: '', err: expect.stringContaining(problem) })
    expect(existsSync(data)).toBe(false)
  })

  test('makes no more than 1,000 keys of a tenant', async () => {
    const { run, serve, create } = await yard()
    const { storage } = await serve()
    for (let count = 0; count < 1_000; count++) await storage.keys.create(newStoredKey('local').stored)
    const refused = await run(create({}))
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('A tenant may have 1000 keys')])
    expect((await run(create({ tenant: 'acme' }))).code).toBe(0)
  })

  test('rejects an unknown role or scope as wrong usage', async () => {
    const { toolyard } = await yard()
    const role = await toolyard('keys', 'create', '--role', 'boss')
    expect(role).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Use one of user, operator, admin.') })
    const scope = await toolyard('keys', 'create', '--scope', 'installation')
    expect(scope).toMatchObject({ code: 2, out: '', err: expect.stringContaining("'installation' is invalid") })
  })

  test('takes a role of the configuration, and lists its scopes', async () => {
    const { toolyard, file } = await yard()
    const config = { roles: { reader: { scopes: ['read'] }, former: { scopes: ['read'] } } }
    const write = (roles: object) => writeFile(file, JSON.stringify({ roles }))
    await write(config.roles)
    for (const role of ['reader', 'former']) await toolyard('keys', 'create', '--role', role, '--name', role)
    const more = await toolyard('keys', 'create', '--role', 'reader', '--scope', 'call')
    expect(more.err).toContain("The role 'reader' does not include the scope 'call', only read.")
    await write({ reader: config.roles.reader })
    const { out } = await toolyard('keys', 'list')
    expect(out).toMatch(/reader +reader +read +active/)
    expect(out).toMatch(/former +former +nothing: unknown role +active/)
  })
})

describe('keys list', () => {
  test('says that there are none, and makes no store for it', async () => {
    const { toolyard, json, list, data } = await yard()
    const err = 'No keys. Create one: toolyard keys create\n'
    expect(await toolyard('keys', 'list')).toEqual({ code: 0, out: '', err })
    expect(await json(list())).toEqual({ keys: [] })
    expect(existsSync(data)).toBe(false)
  })

  test('lists the scopes and state of each key, optionally of one tenant', async () => {
    const { run, json, create, list, revoke } = await yard()
    await run(create({ tenant: 'acme', name: 'page', scope: ['read'], expires: '2999-01-31' }))
    const other = await json(create({ tenant: 'other', name: 'old', tools: ['get_*', 'x'], callsPerMinute: '5' }))
    await run(revoke(other.id))
    const { out } = await run(list())
    const [head, page, old] = out.trimEnd().split('\n')
    expect(head).toMatch(/^ID +TENANT +NAME +ROLE +SCOPES +STATE$/)
    expect(page).toMatch(/^[\w-]{36} {2}acme +page +user +read +active until 2999-01-31T00:00:00\.000Z$/)
    expect(old).toMatch(
      /^[\w-]{36} {2}other +old +user +read call chat \(tools get_\* x, 5 calls per minute\) +revoked \d{4}-/,
    )
    const { keys } = await json(list({ tenant: 'other' }))
    expect(keys).toMatchObject([{ id: other.id, name: 'old', state: 'revoked', revoked_at: expect.any(String) }])
  })
})

describe('keys revoke', () => {
  test('ends a key within a second, and twice is once', async () => {
    const { json, toolyard, serve, create, list, revoke } = await yard()
    const { key, id } = await json(create({}))
    const server = await serve()
    expect(server.callers.find(key)).toBeDefined()
    expect(await toolyard('keys', 'revoke', id)).toEqual({ code: 0, out: `Revoked ${id}\n`, err: '' })
    await vi.waitFor(() => expect(server.callers.find(key)).toBeUndefined())
    const [{ revoked_at }] = (await json(list())).keys
    expect(await json(revoke(id))).toEqual({ id, revoked: true })
    expect((await json(list())).keys[0].revoked_at).toBe(revoked_at)
    const user = 'user:acme/ada'
    expect(await json(revoke(user))).toEqual({ id: user, revoked: true })
    await vi.waitFor(() => expect(server.callers.isRevoked(user, Date.now())).toBe(true))
  })

  test('of an unknown key is wrong usage', async () => {
    const { run, revoke, data } = await yard()
    const err = 'There is no key with the id \'nobody\': see "toolyard keys list".\n'
    expect(await run(revoke('nobody'))).toEqual({ code: 2, out: '', err })
    expect(existsSync(data)).toBe(false)
  })
})

describe('keys restore', () => {
  test('makes a key valid again that was revoked just now', async () => {
    const { json, run, serve, create, revoke } = await yard()
    const { key, id } = await json(create({}))
    const early = await run(['keys', 'restore', id])
    expect([early.code, early.err]).toEqual([2, expect.stringContaining('was not revoked within the last 5 minutes')])
    await run(revoke(id))
    expect(await json(['keys', 'restore', id])).toEqual({ id, restored: true })
    expect((await serve()).callers.find(key)).toMatchObject({ id })
    expect((await run(['keys', 'restore', 'nobody'])).err).toContain("There is no key with the id 'nobody'")
  })
})

describe('keys rotate', () => {
  test('prints another secret once, and a running server accepts the former one for the grace period only', async () => {
    const { toolyard, serve } = await yard()
    const server = await serve()
    const made = JSON.parse((await toolyard('--json', 'keys', 'create', '--name', 'ci')).out)
    const rotated = await toolyard('keys', 'rotate', made.id, '--grace', '2h')
    const secret = rotated.out.trimEnd()
    expect([rotated.code, secret]).toEqual([0, expect.stringMatching(KEY)])
    expect(rotated.err).toMatch(/^This is shown only once\. The former secret is accepted until 20/)
    await vi.waitFor(() => expect(server.callers.find(secret)).toMatchObject({ id: made.id }))
    expect(server.callers.find(made.key)).toMatchObject({ id: made.id })
    const next = JSON.parse((await toolyard('--json', 'keys', 'rotate', made.id)).out)
    expect(next).toEqual({ key: expect.stringMatching(KEY), id: made.id, former_until: null })
    await vi.waitFor(() => expect(server.callers.find(secret)).toBeUndefined())
    expect(server.callers.former(secret)).toMatchObject({ id: made.id })
    for (const grace of ['25h', '2', '-1m']) {
      const { code, err } = await toolyard('keys', 'rotate', made.id, `--grace=${grace}`)
      expect([code, err]).toEqual([2, expect.stringContaining('--grace is 0m to 24h')])
    }
  })
})

describe('keys edit', () => {
  test('changes what its options name, and removes restrictions', async () => {
    const { json, create, edit, list } = await yard()
    const limits = { tools: ['get_*'], callsPerMinute: '60', budget: '0.5/day', expires: '90d' }
    const made = await json(create({ name: 'ci', role: 'operator', scope: ['read', 'call'], ...limits }))
    const { key: _, ...before } = { ...made, revoked_at: null }
    expect(await json(edit(made.id, { name: 'builds', models: ['mini:*'] }))).toEqual({
      ...before,
      name: 'builds',
      models: ['mini:*'],
    })
    const free = { scope: ['all'], tools: ['*'], models: ['*'], callsPerMinute: 'default', budget: 'none' } as const
    const edited = await json(edit(made.id, { ...free, expires: 'never', role: 'user' }))
    const nothing = { scopes: null, tools: null, models: null, calls_per_minute: null, budget: null, expires_at: null }
    expect(edited).toEqual({ ...before, ...nothing, name: 'builds', role: 'user' })
    expect((await json(list())).keys).toEqual([{ ...edited, state: 'active' }])
  })

  test('keeps the records of all tenants unless told otherwise', async () => {
    const { json, create, edit } = await yard()
    const { id } = await json(create({ role: 'user', allTenants: true }))
    const user = ['read', 'call', 'chat']
    expect((await json(edit(id, { name: 'x' }))).scopes).toEqual([...user, 'installation'])
    expect((await json(edit(id, { scope: ['read'] }))).scopes).toEqual(['read', 'installation'])
    expect((await json(edit(id, { allTenants: false }))).scopes).toEqual(['read'])
    expect((await json(edit(id, { allTenants: true, scope: ['all'] }))).scopes).toEqual([...user, 'installation'])
  })

  test('names what is wrong, and changes nothing', async () => {
    const { run, json, create, edit, list, revoke } = await yard()
    const { id } = await json(create({ name: 'ci' }))
    const before = await json(list())
    expect(await run(edit(id, { role: 'root' }))).toMatchObject({
      code: 2,
      err: expect.stringContaining('Unknown role "root"'),
    })
    expect(await run(edit(id, { scope: ['manage'] }))).toMatchObject({
      code: 2,
      err: expect.stringContaining("does not include the scope 'manage'"),
    })
    expect(await run(edit(id, { budget: 'a lot' }))).toMatchObject({
      code: 2,
      err: expect.stringContaining('--budget takes an amount'),
    })
    expect(await run(edit('nobody', { name: 'x' }))).toMatchObject({
      code: 2,
      err: expect.stringContaining("There is no key with the id 'nobody'"),
    })
    expect(await json(list())).toEqual(before)
    await run(revoke(id))
    expect(await run(edit(id, { name: 'x' }))).toMatchObject({ code: 2, err: expect.stringContaining('is revoked') })
  })
})
