import { existsSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import type { Config } from '../../config/config.ts'
import type { GlobalOptions, Terminal } from '../common/terminal.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { keysCreate, keysRevoke, tenantsList, tenantsRemove, tenantsSet } from './access.ts'

/** The commands with their folder. */
async function setup(tenants: Config['tenants'] = {}) {
  const opened = await installationFolder({ tenants })
  const set =
    (id: string, words: string[], unset: string[] = []) =>
    (terminal: Terminal, options: GlobalOptions) =>
      tenantsSet(terminal, id, words, { ...options, unset })
  const remove = (id: string) => (terminal: Terminal, options: GlobalOptions) => tenantsRemove(terminal, id, options)
  const key = (tenant: string) => (terminal: Terminal) => keysCreate(terminal, { tenant, role: 'user' })
  return { ...opened, set, remove, key, list: tenantsList }
}

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
    ['acme', ['=true'], [], 'A flag is the name of a permission or a tool'],
    ['acme', ['a=true'], ['a'], "The flag 'a' cannot be both set and unset."],
    ['a b', ['a=true'], [], "not 'a b'"],
  ])('set %s %j without %j is wrong usage, and stores nothing', async (id, words, unset, problem) => {
    const { run, data, set } = await setup()
    expect(await run(set(id, words, unset))).toEqual({ code: 2, out: '', err: expect.stringContaining(problem) })
    expect(existsSync(data)).toBe(false)
  })

  test('list shows every tenant that has flags or a valid key', async () => {
    const { run, json, toolyard, set, key, list } = await setup({ configured: { flags: { beta: true } } })
    expect((await run(list)).out).toMatch(/^TENANT +KEYS +CONFIGURED +STORED\nconfigured +0 +beta=true\n$/)
    await run(key('keyed'))
    const { id } = await json(key('gone'))
    await run((terminal) => keysRevoke(terminal, id, {}))
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
    await run(key('acme'))
    expect(await toolyard('tenants', 'remove', 'acme')).toEqual({
      code: 0,
      out: 'Removed the stored flags of acme\n',
      err: 'Its keys (1) stay valid: revoke them with "toolyard keys revoke".\n',
    })
    expect(await json(list)).toMatchObject({ tenants: [{ id: 'acme', flags: { beta: true }, stored: {} }] })
    const err = 'Tenant \'acme\' has no stored flags: see "toolyard tenants list".'
    expect(await run(remove('acme'))).toEqual({ code: 2, out: '', err })
  })
})
