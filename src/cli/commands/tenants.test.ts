import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import type { Config } from '../../config/config.ts'
import type { AuditRow } from '../../core/storage/ledger.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'

/** The commands with their folder. */
async function setup(tenants: Config['tenants'] = {}) {
  const opened = await installationFolder({ tenants })
  const json = async (words: readonly string[]) => JSON.parse((await opened.toolyard('--json', ...words)).out)
  return {
    ...opened,
    json,
    run: (words: readonly string[]) => opened.toolyard(...words),
    set: (id: string, words: string[], unset: string[] = []) => [
      ...['tenants', 'set', id, ...words],
      ...(unset.length > 0 ? ['--unset', ...unset] : []),
    ],
    remove: (id: string) => ['tenants', 'remove', id],
    key: (tenant: string) => json(['keys', 'create', '--tenant', tenant]),
    list: ['tenants', 'list'],
  }
}

describe('the audit log', () => {
  test('records changes of keys and flags by commands, with the user who ran them', async () => {
    const { toolyard, json, run, set, remove, key, data } = await setup()
    const { id, key: secret } = await key('acme')
    await run(set('acme', ['search=true', 'beta=false']))
    await run(set('acme', ['search=false'], ['beta']))
    await run(set('acme', ['search=false']))
    await run(remove('acme'))
    await toolyard('keys', 'revoke', id)
    await toolyard('keys', 'revoke', id)
    const { rows } = await json(['audit', 'list', '--type', 'event'])
    const by = userInfo().username
    const seen = rows.map((row: AuditRow) => [row.event, row.subject, JSON.parse(row.detail ?? 'null')])
    const found = seen.toReversed()
    expect(found).toEqual([
      ['tenant.created', 'acme', { by }],
      ['key.created', id, expect.objectContaining({ by, role: 'user', scopes: null })],
      ['flag.set', 'search', { by, old: null, new: true }],
      ['flag.set', 'beta', { by, old: null, new: false }],
      ['flag.set', 'search', { by, old: true, new: false }],
      ['flag.removed', 'beta', { by, old: false, new: null }],
      ['flag.removed', 'search', { by, old: false, new: null }],
      ['key.revoked', id, { by, name: expect.any(String) }],
    ])
    expect(rows.every((row: AuditRow) => row.caller === 'local' && row.source === 'cli')).toBe(true)
    expect(JSON.stringify(rows)).not.toContain(secret)
    const { out } = await toolyard('audit', 'list', '--type', 'event', '--limit', '1')
    expect(out).toMatch(
      /^TIME +TENANT +CALLER +SOURCE +EVENT +SUBJECT +TIMES +DETAIL\n\S+ +acme +local +cli +key\.revoked/,
    )
    expect((await toolyard('audit', 'list')).out).toMatch(/ acme +local +cli +\(key\.created\) +success/)
    expect((await toolyard('audit', 'list', '--type', 'call')).err).toBe('No matching rows.\n')
    expect(await toolyard('audit', 'verify')).toMatchObject({ code: 0, out: 'The audit log is intact.\n' })
    const database = new DatabaseSync(join(data, 'toolyard.db'))
    database.exec("UPDATE audit SET event = 'flag.set' WHERE event = 'key.created'")
    database.close()
    expect(await toolyard('audit', 'verify')).toMatchObject({ code: 1 })
  })
})

describe('tenants', () => {
  test('set stores flags over those that are configured, and a running server takes them up', async () => {
    const { toolyard, json, serve, list } = await setup({ acme: { flags: { search: false, beta: true } } })
    const server = await serve()
    expect(server.tenants.flags('acme')).toEqual({ search: false, beta: true })
    const made = await toolyard('tenants', 'set', 'acme', 'search=true', 'delete_document=false')
    expect(made).toEqual({ code: 0, out: 'acme  search=true delete_document=false\n', err: '' })
    const expected = { search: true, beta: true, delete_document: false }
    await vi.waitFor(() => expect(server.tenants.flags('acme')).toEqual(expected))
    expect(await json(list)).toEqual({
      tenants: [
        {
          id: 'acme',
          flags: expected,
          configured: { search: false, beta: true },
          stored: { search: true, delete_document: false },
          keys: 0,
        },
      ],
    })
  })

  test('set changes the flags that it names and leaves the others; --unset forgets', async () => {
    const { toolyard, json, run, set, list } = await setup()
    await run(set('acme', ['a=true', 'b=true']))
    expect(await json(set('acme', ['b=false', 'c=true']))).toEqual({
      id: 'acme',
      stored: { a: true, b: false, c: true },
    })
    const { out } = await toolyard('tenants', 'set', 'acme', 'd=true', '--unset', 'a', 'b', '--json')
    expect(JSON.parse(out)).toEqual({ id: 'acme', stored: { c: true, d: true } })
    expect((await run(set('acme', [], ['c', 'd']))).out).toBe('acme  no stored flags\n')
    expect(await json(list)).toEqual({ tenants: [] })
  })

  test.each([
    ['acme', [], [], 'Name the flags to set'],
    ['acme', ['search'], [], "Set a flag with name=true or name=false, not 'search'."],
    ['acme', ['search=yes'], [], "not 'search=yes'"],
    ['acme', ['=true'], [], 'a flag is the name of a permission or a tool'],
    ['acme', ['a=true'], ['a'], "The flag 'a' cannot be both set and unset."],
    ['a b', ['a=true'], [], "Invalid tenant name 'a b': use up to 64 letters"],
  ])('set %s %j without %j is wrong usage, and stores nothing', async (id, words, unset, problem) => {
    const { run, data, set } = await setup()
    expect(await run(set(id, words, unset))).toEqual({ code: 2, out: '', err: expect.stringContaining(problem) })
    expect(existsSync(data)).toBe(false)
  })

  test('list shows every tenant that has flags or a valid key', async () => {
    const { run, toolyard, set, key, list } = await setup({ configured: { flags: { beta: true } } })
    expect((await run(list)).out).toMatch(/^TENANT +KEYS +CONFIGURED +STORED\nconfigured +0 +beta=true\n$/)
    await key('keyed')
    const { id } = await key('gone')
    await toolyard('keys', 'revoke', id)
    await run(set('stored', ['x=false']))
    const { out, err } = await toolyard('tenants', 'list')
    expect(out.trimEnd().split('\n').slice(1)).toEqual([
      expect.stringMatching(/^configured +0 +beta=true$/),
      expect.stringMatching(/^keyed +1$/),
      expect.stringMatching(/^stored +0 +x=false$/),
    ])
    expect(err).toBe('Stored flags override configured ones.\n')
  })

  test('list says that there are none, and makes no store for it', async () => {
    const { run, data, list } = await setup()
    expect(await run(list)).toEqual({ code: 0, out: '', err: 'No tenant has flags or keys yet.\n' })
    expect(existsSync(data)).toBe(false)
  })

  test('remove deletes the stored flags, and says that keys stay valid', async () => {
    const { run, json, toolyard, set, key, list, remove } = await setup({ acme: { flags: { beta: true } } })
    await run(set('acme', ['beta=false']))
    await key('acme')
    expect(await toolyard('tenants', 'remove', 'acme')).toEqual({
      code: 0,
      out: 'Removed the stored flags of acme\n',
      err: 'Its keys (1) stay valid: revoke them with "toolyard keys revoke".\n',
    })
    expect(await json(list)).toMatchObject({ tenants: [{ id: 'acme', flags: { beta: true }, stored: {} }] })
    const err = 'Tenant \'acme\' has no stored flags: see "toolyard tenants list".\n'
    expect(await run(remove('acme'))).toEqual({ code: 2, out: '', err })
  })
})
