import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { appendFile, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limitsNetwork } from '../../isolation/launch.ts'
import { mockTool, newSigner, packageFiles, writeFiles } from '../../packages/fixtures/package-files.ts'
import { signPackage } from '../../packages/package.ts'
import { fingerprintOf, type Signer } from '../../packages/signing.ts'
import { writeTarball } from '../../packages/tarball.ts'
import { captureIo, emptyFolder, folder, toolyard } from '../fixtures/toolyard.ts'
import { main } from '../main.ts'

type Written = Parameters<typeof packageFiles>[0]
const acme = newSigner()
const [TRUST, FINGERPRINT] = ['--trust', fingerprintOf(acme.key)]

/** Requests of npm documents and tarballs, and what the registry answers. */
const published = new Map<string, { tarball: Buffer; integrity?: string; version: string }>()
const registry = Fastify()
let address = ''

beforeAll(async () => {
  registry.get<{ Params: { name: string } }>('/:name', async ({ params: { name } }, reply) => {
    const found = published.get(name)
    if (found === undefined) return reply.code(404).send({ error: 'not found' })
    const sha512 = createHash('sha512').update(found.tarball).digest('base64')
    const dist = {
      tarball: `${address}/-/${encodeURIComponent(name)}`,
      integrity: found.integrity ?? `sha512-${sha512}`,
    }
    return { name, 'dist-tags': { latest: found.version }, versions: { [found.version]: { dist } } }
  })
  registry.get<{ Params: { name: string } }>('/-/:name', async ({ params: { name } }, reply) => {
    return reply.type('application/octet-stream').send(published.get(name)?.tarball)
  })
  registry.get('/catalogue.json', async () => ({
    packages: [{ name: '@acme/tools', version: '1.4.0', source: 'npm:@acme/tools', description: 'Tools of Acme' }],
  }))
  address = await registry.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await registry.close()
  emptyFolder()
})

const packed = (written: Written = {}, signer: Signer = acme) =>
  writeTarball(signPackage(packageFiles(written), signer).files)

/** An empty folder with a configuration, and a command line in it. */
async function project(config: object = {}) {
  const cwd = await mkdtemp(join(folder, 'project-'))
  const http = { allow_private: ['127.0.0.1'] }
  const all = { tools: { enabled: true }, http, packages: { registry: address }, ...config }
  await writeFile(join(cwd, 'toolyard.config.json'), JSON.stringify(all))
  const run = (...words: string[]) => toolyard(words, { cwd })
  return {
    cwd,
    run,
    /** Adds a package from a file, without questions. */
    async add(tarball: Buffer, ...options: string[]) {
      await writeFile(join(cwd, 'a.tgz'), tarball)
      return run('add', 'a.tgz', '--yes', TRUST, FINGERPRINT, ...options)
    },
    lock: async () => JSON.parse(await readFile(join(cwd, 'toolyard.lock.json'), 'utf8')).packages,
    isAdded: () => existsSync(join(cwd, 'toolyard.lock.json')),
  }
}

describe('add', () => {
  test('pins hash, key and source, and its tools run', async () => {
    const { add, lock, run } = await project()
    expect(await add(packed())).toMatchObject({ code: 0 })
    const { hash, key } = signPackage(packageFiles(), acme)
    expect(await lock()).toEqual({ '@acme/tools': { version: '1.0.0', source: 'a.tgz', hash, key, granted: [] } })
    expect((await run('exec', 'hello')).out).toContain('"hello"')
    expect((await run('tools')).out).toMatch(/^hello +mock +read/m)
  })

  test.runIf(limitsNetwork())('says that code without network: true has no network access', async () => {
    const handler = mockTool('run', { implementation: { type: 'internal', handler: 'handlers/run.mjs#run' } })
    const tarball = packed({ tools: [handler], files: { 'handlers/run.mjs': 'export const run = () => 1' } })
    const { cwd } = await project()
    await writeFile(join(cwd, 'a.tgz'), tarball)
    const { io, written } = captureIo({ cwd })
    await main(['add', 'a.tgz'], { ...io, stdin: Object.assign(Readable.from(['y\ny\n\n']), { isTTY: true }) })
    expect(written.out).toContain('runs without network access (handlers/run.mjs)')
    expect(written.err).toContain('Its code runs without network access. Add it?')
  })

  test('asks about the key, the package, and again about code', async () => {
    const implementation = { type: 'internal', handler: 'handlers/run.mjs#run', network: true }
    const handler = mockTool('run', { implementation })
    const tarball = packed({ tools: [handler], files: { 'handlers/run.mjs': 'export const run = () => 1' } })
    const { cwd, isAdded } = await project()
    await writeFile(join(cwd, 'a.tgz'), tarball)
    const answer = async (text: string) => {
      const { io, written } = captureIo({ cwd })
      const stdin = Object.assign(Readable.from([text]), { isTTY: true })
      return { code: await main(['add', 'a.tgz'], { ...io, stdin }), ...written }
    }
    const no = await answer('yes\ny\n\n')
    expect(no).toMatchObject({ code: 2, err: expect.stringContaining('@acme/tools was not added.') })
    expect(no.err).toContain(
      `Trust the unknown key ${FINGERPRINT}? [y/N] Add @acme/tools? [y/N] Its code can reach any address.`,
    )
    expect((await answer('n\n')).code).toBe(2)
    expect((await answer('')).code).toBe(2)
    expect(isAdded()).toBe(false)
    expect((await answer('y\ny\ny\n')).code).toBe(0)
    expect(isAdded()).toBe(true)
    expect((await answer('y\ny\n')).err).not.toContain('Trust')
  })

  test('keeps packages that were added while it asked, and refuses an older version than those', async () => {
    const { cwd, run, add, lock } = await project()
    const other = packed({ more: { name: '@acme/other' }, tools: [mockTool('other')] })
    await writeFile(join(cwd, 'first.tgz'), packed())
    await add(other)
    const { io, written } = captureIo({ cwd })
    const answers = async function* (during: () => Promise<unknown>) {
      await during()
      yield 'y\n'
    }
    const asking = (during: () => Promise<unknown>) => {
      const stdin = Object.assign(Readable.from(answers(during)), { isTTY: true })
      return main(['add', 'first.tgz'], { ...io, stdin })
    }
    expect(await asking(() => run('remove', '@acme/other'))).toBe(0)
    expect(Object.keys(await lock())).toEqual(['@acme/tools'])
    await run('remove', '@acme/tools')
    await add(other)
    expect(await asking(() => add(packed({ more: { version: '1.1.0' } })))).toBe(1)
    expect(written.err).toContain('1.0.0 is older than 1.1.0')
    expect(Object.keys(await lock())).toEqual(['@acme/other', '@acme/tools'])
  })

  test('without a terminal it names the options that confirm', async () => {
    const { cwd, run, isAdded } = await project()
    await writeFile(join(cwd, 'a.tgz'), packed())
    const { code, err } = await run('add', 'a.tgz')
    expect(code).toBe(2)
    expect(err).toContain(`confirm it on a terminal, or with --trust ${FINGERPRINT} --yes.`)
    expect(await run('add', 'a.tgz', '--yes')).toMatchObject({ code: 2 })
    expect(await run('add', 'a.tgz', '--json')).toMatchObject({ code: 2 })
    const other = fingerprintOf(newSigner().key)
    expect((await run('add', 'a.tgz', '--yes', '--trust', other)).err).toContain(`${FINGERPRINT}, not by ${other}`)
    expect(isAdded()).toBe(false)
  })

  test('refuses another key, other contents and an older version, until it is removed', async () => {
    const { add, run, lock } = await project()
    const at = (version: string, files = {}) => packed({ more: { version }, files })
    expect((await add(at('1.1.0'))).code).toBe(0)
    expect((await add(at('1.0.0'))).err).toContain('@acme/tools 1.0.0 is older than 1.1.0')
    expect((await add(at('1.1.0', { 'README.md': 'x' }))).err).toContain('has other contents')
    const stranger = newSigner()
    const other = await add(packed({ more: { version: '1.2.0' } }, stranger), '--trust', fingerprintOf(stranger.key))
    expect(other.err).toContain('is signed by another key than before')
    expect((await add(at('1.2.0'))).code).toBe(0)
    expect((await lock())['@acme/tools']).toMatchObject({ version: '1.2.0' })
    expect((await run('remove', '@acme/tools')).code).toBe(0)
    expect(await lock()).toEqual({})
    expect((await run('remove', '@acme/tools')).err).toContain(
      "There is no package '@acme/tools'. There are no packages.",
    )
    expect((await add(at('1.0.0'))).code).toBe(0)
  })

  test('the audit log has a row for each added and removed package, if there is a store', async () => {
    const { add, run, cwd } = await project()
    await add(packed())
    expect(existsSync(join(cwd, '.toolyard'))).toBe(false)
    await run('keys', 'create', '--name', 'one')
    await add(packed())
    await run('remove', '@acme/tools')
    const { rows } = JSON.parse((await run('audit', 'list', '--type', 'event', '--json')).out)
    const { hash } = signPackage(packageFiles(), acme)
    expect(rows.slice(0, 2)).toMatchObject([
      { event: 'package.removed', subject: '@acme/tools', caller: 'local' },
      { event: 'package.added', subject: '@acme/tools', detail: expect.stringContaining(hash) },
    ])
  })

  test('shows the method of requests that may write, whatever effect they declare', async () => {
    const http = { type: 'http', url: 'https://api.example.com/', method: 'DELETE' }
    const tools = [mockTool('ask', { effect: 'read', implementation: http })]
    const { add } = await project()
    expect((await add(packed({ tools, hosts: ['api.example.com'] }))).out).toMatch(/ask +http DELETE +read/)
  })

  test('grants variables that the package reads, and no others', async () => {
    const http = { type: 'http', url: 'https://api.example.com/', headers: { key: '${ACME_KEY}' } }
    const tarball = packed({ tools: [mockTool('ask', { implementation: http })], hosts: ['api.example.com'] })
    const { add, lock } = await project()
    expect((await add(tarball)).out).toContain('variables:   ACME_KEY (not granted)')
    expect((await lock())['@acme/tools'].granted).toEqual([])
    expect((await add(tarball, '--grant', 'OTHER')).err).toContain(
      "does not read the variable 'OTHER'. It reads ACME_KEY.",
    )
    expect((await add(tarball, '--grant', 'ACME_KEY')).out).toContain('variables:   ACME_KEY (granted)')
    expect((await lock())['@acme/tools'].granted).toEqual(['ACME_KEY'])
  })

  test('says which tools the configuration has already', async () => {
    const { add } = await project({ tools: { enabled: true, registry: [mockTool('hello')] } })
    expect((await add(packed())).err).toContain('hello will be left out: the configuration has a tool of this name.')
  })

  test('prints no control characters of a package', async () => {
    const description = 'Good\u001b[2J\u202Etool'
    const { add } = await project()
    const { out } = await add(packed({ more: { description }, tools: [mockTool('a', { description })] }))
    expect(out).toContain('Good\\u001b[2J\\u202etool')
    expect(out).not.toContain('\u001b')
  })

  test('a folder is signed with the own key, unless it is signed already', async () => {
    const { cwd, run } = await project()
    await writeFiles(join(cwd, 'mine'), packageFiles())
    const own = await run('add', 'mine', '--yes')
    expect(own).toMatchObject({ code: 0, out: expect.stringContaining('(your key)') })
    const theirs = signPackage(packageFiles({ more: { name: 'theirs' }, tools: [mockTool('theirs')] }), acme)
    await writeFiles(join(cwd, 'theirs'), theirs.files)
    expect((await run('add', 'theirs', '--yes')).err).toContain(`--trust ${FINGERPRINT}`)
    await appendFile(join(cwd, 'theirs/tools/tools.json'), ' ')
    expect((await run('add', 'theirs', '--yes', TRUST, FINGERPRINT)).err).toContain('was changed after it was signed')
    expect((await run('pack', 'theirs')).err).toContain('is a signed package already')
  })

  test('names a source that is missing', async () => {
    const { run } = await project()
    expect((await run('add', 'nothing.tgz')).err).toContain('"nothing.tgz" cannot be read (ENOENT)')
  })
})

describe('npm', () => {
  const publish = (name: string, tarball: Buffer, more: { integrity?: string; version?: string } = {}) =>
    published.set(name, { tarball, version: '1.0.0', ...more })

  test('adds the latest or the named version', async () => {
    publish('@acme/tools', packed())
    const { run, lock } = await project()
    expect(await run('add', 'npm:@acme/tools', '--yes', TRUST, FINGERPRINT)).toMatchObject({ code: 0 })
    expect((await lock())['@acme/tools']).toMatchObject({ source: 'npm:@acme/tools', version: '1.0.0' })
    expect(await run('add', 'npm:@acme/tools@1.0.0', '--yes')).toMatchObject({ code: 0 })
    expect((await run('add', 'npm:@acme/tools@9.9.9', '--yes')).err).toContain(
      'npm has no version "9.9.9" of @acme/tools',
    )
    expect((await run('add', 'npm:../evil', '--yes')).err).toContain('is not a package of npm')
    expect((await run('add', 'npm:missing', '--yes')).err).toContain('responded with 404')
    publish('@acme/tools', packed({ more: { version: '1.3.0' } }), { version: '1.3.0' })
    expect((await run('outdated')).out).toBe('@acme/tools  1.0.0  1.3.0  npm:@acme/tools\n')
    expect((await run('add', 'npm:@acme/tools', '--yes')).code).toBe(0)
    expect((await run('outdated')).err).toBe('No package has a newer version.\n')
    published.delete('@acme/tools')
    const gone = await run('outdated', '--json')
    expect(gone.code).toBe(1)
    expect(JSON.parse(gone.out)).toEqual({ packages: [], problems: [expect.stringContaining('responded with 404')] })
  })

  test.each<[string, () => unknown, string]>([
    [
      'a tarball that does not match',
      () => publish('bad', packed(), { integrity: 'sha512-AAAA' }),
      'does not match the integrity',
    ],
    ['a weak hash', () => publish('bad', packed(), { integrity: 'sha1-AAAA' }), 'does not match the integrity'],
    ['no integrity', () => publish('bad', packed(), { integrity: '' }), 'does not match the integrity'],
    ['another package', () => publish('bad', packed()), 'npm answered bad@1.0.0 with @acme/tools@1.0.0'],
    [
      'another version',
      () => publish('bad', packed({ more: { name: 'bad' } }), { version: '2.0.0' }),
      'with bad@1.0.0',
    ],
    ['an unsigned package', () => publish('bad', writeTarball(packageFiles())), 'It is not signed'],
  ])('refuses %s', async (_what, offer, message) => {
    offer()
    const { run, isAdded } = await project()
    const { code, err } = await run('add', 'npm:bad', '--yes', TRUST, FINGERPRINT)
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(message) })
    expect(isAdded()).toBe(false)
  })

  test('the registry is subject to the network policy', async () => {
    const { run } = await project({ http: {} })
    expect((await run('add', 'npm:@acme/tools', '--yes')).err).toContain('add "127.0.0.1" to http.allow_private')
  })
})

describe('packages', () => {
  test('lists the added packages and the catalogue of a URL', async () => {
    const { add, run } = await project({ packages: { catalogue: `${address}/catalogue.json` } })
    expect((await run('packages')).err).toContain('There are no packages.')
    await add(packed())
    const { out } = await run('packages', '--json')
    expect(JSON.parse(out)).toEqual({
      packages: [{ name: '@acme/tools', version: '1.0.0', source: 'a.tgz', fingerprint: FINGERPRINT, granted: [] }],
      catalogue: [{ name: '@acme/tools', version: '1.4.0', source: 'npm:@acme/tools', description: 'Tools of Acme' }],
      problems: [],
    })
    expect((await run('packages')).out).toContain('Tools of Acme')
    expect((await run('outdated')).out).toContain('@acme/tools  1.0.0  1.4.0  npm:@acme/tools')
  })

  test('a catalogue in a file is read beside the configuration, and checked', async () => {
    const { cwd, run, add } = await project({ packages: { catalogue: 'catalogue.json' } })
    expect((await run('packages')).err).toContain('cannot be read (ENOENT)')
    await add(packed())
    expect(await run('packages')).toMatchObject({ code: 1, out: expect.stringContaining('@acme/tools  1.0.0') })
    await writeFile(join(cwd, 'catalogue.json'), '{"packages":[{"name":"../evil","version":"1.0.0","source":"x"}]}')
    expect((await run('packages')).err).toContain('catalogue.json: ')
    await writeFile(join(cwd, 'catalogue.json'), '{"packages":[{"name":"fine","version":"1.0.0","source":"fine.tgz"}]}')
    expect((await run('packages')).out).toContain('fine  1.0.0  fine.tgz')
  })
})

test('pack refuses tools that would be skipped, and suites that cannot run', async () => {
  const { cwd, run } = await project()
  await writeFiles(join(cwd, 'typo'), packageFiles({ tools: [mockTool('a', { permision: ['x'] })] }))
  expect((await run('pack', 'typo')).err).toContain("Tool 'a': unknown key 'permision': did you mean 'permissions'?")
  const suite = { cases: [{ query: 'Hi', expect: { calls: [{ tool: 'helo' }] } }] }
  await writeFiles(join(cwd, 'suite'), packageFiles({ files: { 'suites/a.json': JSON.stringify(suite) } }))
  expect(await run('pack', 'suite')).toMatchObject({ code: 1, err: expect.stringContaining("did you mean 'hello'?") })
  expect(existsSync(join(cwd, 'acme-tools-1.0.0.tgz'))).toBe(false)
})

test('keys signing shows the fingerprint of the key that pack uses', async () => {
  const { cwd, run } = await project()
  const { out, code } = await run('keys', 'signing')
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^SHA256:[\w-]{43}\n$/) })
  await writeFiles(join(cwd, 'mine'), packageFiles())
  const packedMine = JSON.parse((await run('pack', 'mine', '--json')).out)
  expect(packedMine).toMatchObject({
    name: '@acme/tools',
    fingerprint: out.trim(),
    file: join(cwd, 'acme-tools-1.0.0.tgz'),
  })
  expect(JSON.parse((await run('keys', 'signing', '--json')).out)).toMatchObject({ fingerprint: out.trim() })
})
