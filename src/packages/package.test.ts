import { symlinkSync } from 'node:fs'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mockTool, newSigner, packageFiles, temporaryFolder, writeFiles } from './fixtures/package-files.ts'
import { replaceProblem } from './load-packages.ts'
import { openPackage, readPackageFolder, signPackage } from './package.ts'
import { fingerprintOf, openSigner } from './signing.ts'
import { type Files, MANIFEST } from './tarball.ts'

const signer = newSigner()
const signed = async (written?: Parameters<typeof packageFiles>[0]) => signPackage(packageFiles(written), signer)
const tool = (implementation: object, more: object = {}) => mockTool('one', { implementation, ...more })

/** The files of a signed package, with one of them changed. */
function changed(files: Files, path: string, change: (text: string) => string): Files {
  return new Map([...files, [path, Buffer.from(change(String(files.get(path) ?? '')))]])
}

describe('signature', () => {
  test('a signed package opens, with its key and hash', async () => {
    const { files, key, hash } = await signed()
    const opened = openPackage(files)
    expect(opened).toMatchObject({ name: '@acme/tools', version: '1.0.0', key, hash })
    expect(key).toBe(signer.key)
    expect(fingerprintOf(key)).toMatch(/^SHA256:[\w-]{43}$/)
  })

  test.each<[string, (files: Files, other: Files) => Files, string]>([
    [
      'a changed file',
      (files) => changed(files, 'tools/tools.json', (text) => `${text} `),
      '"tools/tools.json" was changed',
    ],
    ['an added file', (files) => changed(files, 'handlers/evil.mjs', () => ''), 'is not in the signed manifest'],
    [
      'a missing file',
      (files) => new Map([...files].filter(([path]) => path !== 'README.md')),
      '"README.md" is missing',
    ],
    ['no manifest', (files) => new Map([...files].filter(([path]) => path !== MANIFEST)), 'It is not signed'],
    [
      'a changed manifest',
      (files) => changed(files, MANIFEST, (text) => text.replace('1.0.0', '1.0.1')),
      'signature is wrong',
    ],
    [
      'the key of another',
      (files, other) => changed(files, MANIFEST, (text) => withOf(text, other, 'key')),
      'signature is wrong',
    ],
    [
      'the signature of another',
      (files, other) => changed(files, MANIFEST, (text) => withOf(text, other, 'signature')),
      'signature is wrong',
    ],
    [
      'an empty signature',
      (files) => changed(files, MANIFEST, (text) => text.replace(/"signature": ".*"/, '"signature": ""')),
      MANIFEST,
    ],
    [
      'unknown keys in the manifest',
      (files) => changed(files, MANIFEST, (text) => text.replace('{', '{"more": 1,')),
      MANIFEST,
    ],
    [
      'a manifest that is nested deeply',
      (files) => changed(files, MANIFEST, () => '['.repeat(100_000)),
      'nested deeper',
    ],
  ])('refuses %s', async (_what, tamper, message) => {
    const { files } = await signed({ files: { 'README.md': '# Tools' } })
    const { files: other } = signPackage(packageFiles(), newSigner())
    expect(() => openPackage(tamper(files, other))).toThrow(message)
  })

  const withOf = (text: string, other: Files, key: string): string =>
    JSON.stringify({ ...JSON.parse(text), [key]: JSON.parse(String(other.get(MANIFEST)))[key] })

  test('refuses another key, other contents of a version, and an older version than before', async () => {
    const before = await signed({ more: { version: '1.2.0' } })
    const lock = new Map([[before.name, { ...before, source: 'a.tgz', granted: [] }]])
    const again = 'run "toolyard remove @acme/tools" first'
    const other = signPackage(packageFiles({ more: { version: '2.0.0' } }), newSigner())
    expect(replaceProblem(lock, before)).toBeUndefined()
    expect(replaceProblem(lock, await signed({ more: { version: '1.10.0' } }))).toBeUndefined()
    expect(replaceProblem(lock, other)).toContain('is signed by another key than before')
    expect(replaceProblem(lock, await signed({ more: { version: '1.1.9' } }))).toContain('1.1.9 is older than 1.2.0')
    const same = await signed({ more: { version: '1.2.0' }, files: { 'README.md': 'New' } })
    expect(replaceProblem(lock, same)).toContain('has other contents')
    expect(replaceProblem(lock, same)).toContain(again)
  })

  test('refuses another spelling of a key', () => {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = digits.indexOf(signer.key.slice(-1))
    // The last digit has two bits that mean nothing.
    const key = signer.key.slice(0, -1) + digits[last ^ 1]
    expect(Buffer.from(key, 'base64url')).toEqual(Buffer.from(signer.key, 'base64url'))
    expect(() => signPackage(packageFiles(), { ...signer, key })).toThrow('Its signature is wrong')
  })

  test('the private key is readable for its owner only', async () => {
    const folder = await temporaryFolder()
    const first = await openSigner(folder)
    const file = join(folder, 'signing-key.pem')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await openSigner(folder))?.key).toBe(first?.key)
    await chmod(file, 0o644)
    await expect(openSigner(folder)).rejects.toThrow('Others can read the signing key')
    await writeFile(file, 'no key')
    await chmod(file, 0o600)
    await expect(openSigner(folder)).rejects.toThrow('is not an Ed25519 key')
    expect(await readFile(file, 'utf8')).toBe('no key')
    expect(await openSigner(await temporaryFolder(), false)).toBeUndefined()
  })
})

describe('contents', () => {
  test('lists what the package may do', async () => {
    const tools = [
      mockTool('look', { permissions: ['files'] }),
      mockTool('send', {
        implementation: {
          type: 'http',
          method: 'POST',
          url: 'https://api.example.com/x',
          headers: { key: '${API_KEY}' },
        },
      }),
      mockTool('run', { implementation: { type: 'internal', handler: 'handlers/run.mjs#run' } }),
      mockTool('both', {
        implementation: {
          type: 'pipeline',
          steps: [
            { id: 'a', tool: 'look' },
            { id: 'b', tool: 'send' },
          ],
        },
      }),
      mockTool('ask', {
        implementation: { type: 'agent', model: 'mini:v1', tools: ['look'], prompt: { include: 'prompts/ask.md' } },
      }),
    ]
    const files = { 'handlers/run.mjs': '', 'prompts/ask.md': 'Answer.', 'suites/a.json': '[]', 'mocks/a.json': '1' }
    const { contents, definitions } = await signed({ tools, files, hosts: ['api.example.com'] })
    expect(contents).toMatchObject({
      tools: [
        { name: 'look', kind: 'mock', effect: 'read' },
        { name: 'send', kind: 'http', effect: 'write', variables: ['API_KEY'] },
        { name: 'run', kind: 'internal', effect: 'write' },
        { name: 'both', kind: 'pipeline', effect: 'write' },
        { name: 'ask', kind: 'agent', effect: 'read' },
      ],
      hosts: ['api.example.com'],
      permissions: ['files'],
      variables: ['API_KEY'],
      models: ['mini:v1'],
      code: ['handlers/run.mjs'],
      prompts: ['prompts/ask.md'],
      suites: ['suites/a.json'],
      mocks: ['mocks/a.json'],
    })
    expect(definitions.at(-1)?.implementation.prompt).toBe('Answer.')
  })

  const http = (more: object) => tool({ type: 'http', url: 'https://api.example.com/', ...more })
  const oauth = (token_url: string) => ({ type: 'oauth2', token_url, client_id: 'a', client_secret: 'b' })
  test.each<[string, object, string]>([
    [
      'a host that is not declared',
      http({ url: 'https://evil.example.net/' }),
      "host 'evil.example.net' is not declared",
    ],
    ['a host in a variable', http({ url: 'https://${HOST}/' }), 'write out the host'],
    ['a host behind a user name', http({ url: 'https://api.example.com@evil.example.net/' }), 'write out the host'],
    ['a URL without a host', http({ url: '${URL}' }), 'write out the host'],
    ['a token from another host', http({ auth: oauth('https://evil.example.net/') }), 'is not declared'],
    [
      'a domain that is not declared',
      http({ allowed_domains: ['*.example.net'] }),
      'allowed_domains has "*.example.net"',
    ],
    ['domains that are none', http({ allowed_domains: null }), 'allowed_domains'],
    ['a list of URLs', http({ url: ['https://api.example.com/'] }), 'url'],
    ['a version that is none', mockTool('one', { version: '1.0.0-01' }), "isn't a semantic version"],
    ['a secret from a file', http({ headers: { key: '${file:/etc/passwd}' } }), 'work only in the configuration file'],
    ['a secret from a command', http({ headers: { key: '${cmd:id}' } }), 'work only in the configuration file'],
    [
      'a secret of the configuration',
      http({ headers: { key: '${TOOLYARD_SECRET_00}' } }),
      'work only in the configuration',
    ],
    ['a setting of the server', http({ headers: { key: '${TOOLYARD_ADMIN_KEY}' } }), 'is a setting of the server'],
    ['a handler of the host', tool({ type: 'internal', handler: 'search_documents' }), 'must be such as'],
    ['a missing handler', tool({ type: 'internal', handler: 'handlers/no.mjs#run' }), 'is missing'],
    ['a handler outside', tool({ type: 'internal', handler: 'handlers/../../x.mjs#run' }), 'must be such as'],
    ['an unknown builtin', tool({ type: 'builtin', handler: 'ingest_docs' }), 'there is no shipped handler'],
    ['a tool of an MCP server', tool({ type: 'mcp', server: 'files', tool: 'read' }), 'kind "mcp" is not allowed'],
    [
      'a pipeline with a local tool',
      tool({ type: 'pipeline', steps: [{ id: 'a', tool: 'local' }] }),
      'it calls "local"',
    ],
    ['an agent with local tools', tool({ type: 'agent', model: 'mini:v1', tools: ['*'] }), 'it calls "*"'],
    ['an agent elsewhere', tool({ type: 'agent', model: 'a:b', url: 'https://api.example.com' }), 'remove url'],
    ['a definition without a name', { description: 'a' }, 'name'],
    [
      'a missing file',
      tool({ type: 'mock', mock_response: { include: 'mocks/no.json' } }),
      '"mocks/no.json", which is missing',
    ],
  ])('refuses %s', async (_what, definition, message) => {
    await expect(signed({ tools: [definition], hosts: ['api.example.com'] })).rejects.toThrow(message)
  })

  test.each<[string, Parameters<typeof packageFiles>[0], string]>([
    ['dependencies', { more: { dependencies: { lodash: '4' } } }, 'bundle them into the handlers'],
    ['install scripts', { more: { scripts: { postinstall: 'node evil.js' } } }, 'has the install script postinstall'],
    ['a name with a path', { more: { name: '../evil' } }, 'package.json'],
    ['a reserved name', { more: { name: '@acme/node_modules' } }, 'is reserved'],
    ['a version that is none', { more: { version: 'latest' } }, 'package.json'],
    // Versions that can't be compared would allow a downgrade.
    ['a version with a leading zero', { more: { version: '01.0.0' } }, 'package.json'],
    ['a version with a long pre-release', { more: { version: `2.0.0-${'a'.repeat(65)}` } }, 'package.json'],
    ['a version with an empty part', { more: { version: '2.0.0-a..b' } }, "isn't a semantic version"],
    ['a host that is none', { hosts: ['https://api.example.com/x'] }, 'which is not a host name'],
    ['two tools of one name', { tools: [mockTool('a'), mockTool('a')] }, 'used twice'],
    ['too many tools', { tools: Array.from({ length: 1_001 }, (_, at) => mockTool(`t${at}`)) }, 'more than 1000 tools'],
    ['no tools', { tools: [] }, 'It has no tools'],
    ['tools that are not JSON', { files: { 'tools/tools.json': '{' } }, 'tools/tools.json is not valid JSON'],
  ])('refuses %s', async (_what, written, message) => {
    await expect(signed(written)).rejects.toThrow(message)
  })
})

describe('folder', () => {
  test('takes what belongs to a package, and refuses links', async () => {
    const folder = await writeFiles(await temporaryFolder(), packageFiles({ files: { 'README.md': '' } }))
    await mkdir(join(folder, 'node_modules/x'), { recursive: true })
    await writeFile(join(folder, '.env'), 'SECRET=1')
    await writeFile(join(folder, 'tools/.DS_Store'), '')
    expect([...(await readPackageFolder(folder)).keys()]).toEqual(['README.md', 'package.json', 'tools/tools.json'])
    await expect(readPackageFolder(folder, true)).rejects.toThrow('".env"')
    symlinkSync('/etc/passwd', join(folder, 'tools/passwd.json'))
    await expect(readPackageFolder(folder)).rejects.toThrow('links and devices are refused')
  })

  test('names a folder that is missing', async () => {
    await expect(readPackageFolder('/nowhere/at/all')).rejects.toThrow('/nowhere/at/all cannot be read (ENOENT)')
  })
})
