import { symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { ToolManager } from '../../../app/tools/tool-manager.ts'
import { loadConfigFile } from '../../../config/load-config.ts'
import { captureLog } from '../../../testing/stand-ins.ts'
import { importFolder, PETS } from '../../fixtures/import-folder.ts'

describe('import openapi', () => {
  test('makes tools of a document, and a configuration that includes them', async () => {
    const { run, read, folder, toolyard: command } = await importFolder()
    const { code, out, err } = await run('pets.yaml')
    expect(code).toBe(0)
    expect(out).toBe(
      [
        'tools/pet-store.json: 3 of 4 operations imported (3 added, 0 removed, 0 changed, 0 unchanged), 1 rejected.',
        '+ add_pet',
        '+ get_shop',
        '+ list_pets',
        'Rejected: PUT /pets/{id}/photo: its body is "image/png": tools send JSON, forms and text',
        '',
      ].join('\n'),
    )
    expect(err).toBe(
      [
        'Set PETS_EXAMPLE_TOKEN, which is sent to pets.example. Tools that need it are skipped until then.',
        `Written; ${join(folder, 'toolyard.config.json')} was created and includes it.`,
        '',
      ].join('\n'),
    )
    expect(await read('toolyard.config.json')).toEqual({
      tools: { enabled: true, registry: [{ include: 'tools/pet-store.json' }] },
    })
    const listed = await command(['tools', '--check'], { PETS_EXAMPLE_TOKEN: 'secret-token' })
    expect(listed).toMatchObject({ code: 0, err: 'Checked 3 tools: every schema compiles.\n' })
    expect((await command(['tools'])).err).toContain(
      'Skipped: add_pet: The environment variable PETS_EXAMPLE_TOKEN is not set',
    )
  })

  test('names the hosts that get each variable, including token URLs', async () => {
    const { run, write } = await importFolder()
    const clientCredentials = { tokenUrl: 'https://login.example/token', scopes: {} }
    const securitySchemes = {
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      login: { type: 'oauth2', flows: { clientCredentials } },
    }
    await write('shop.json', {
      openapi: '3.0.3',
      info: { title: 'Shop', version: '1' },
      servers: [{ url: 'https://shop.example/v1' }],
      paths: { '/x': { get: { security: [{ login: [], key: [] }], responses: { 200: { description: 'ok' } } } } },
      components: { securitySchemes },
    })
    const { err } = await run('shop.json')
    expect(err).toMatch(/SHOP_EXAMPLE_API_KEY, which is sent to shop\.example\./)
    expect(err).toMatch(/LOGIN_EXAMPLE_CLIENT_SECRET, which is sent to login\.example\./)
  })

  test('every definition loads, and none is skipped or warned about', async () => {
    const { run, folder } = await importFolder()
    await run('pets.yaml')
    const { config } = await loadConfigFile(join(folder, 'toolyard.config.json'))
    const manager = new ToolManager(config, { log: captureLog(), env: { PETS_EXAMPLE_TOKEN: 'secret-token' } })
    onTestFinished(() => manager.close())
    expect(await manager.loadTools()).toEqual({
      loaded: ['add_pet', 'get_shop', 'list_pets'],
      skipped: [],
      warnings: [],
    })
    for (const name of ['add_pet', 'get_shop', 'list_pets']) expect(manager.getExecutor().check(name)).toBeUndefined()
  })

  test('shows the changes on a second import, and keeps manual edits', async () => {
    const { run, json, write, read } = await importFolder()
    await run('pets.yaml')
    const before = await read('tools/pet-store.json')
    expect(await json('pets.yaml')).toMatchObject({
      code: 0,
      added: [],
      removed: [],
      changed: [],
      included: false,
      written: true,
    })
    expect(await read('tools/pet-store.json')).toEqual(before)

    const [add, shop, list] = before
    await write('tools/pet-store.json', [
      add,
      shop,
      { ...list, timeout_ms: 500, description: 'Mine.', implementation: { ...list.implementation, pick: ['name'] } },
    ])
    const { '/shops/{id}': _, ...others } = PETS.paths
    const now = { ...PETS, paths: { ...others, '/new': { get: { operationId: 'new_one', summary: 'New' } } } }
    await write('pets.yaml', stringify(now))

    const dry = await run('pets.yaml', '--dry-run')
    expect(dry.out.split('\n').slice(0, 5)).toEqual([
      'tools/pet-store.json: 3 of 4 operations imported (1 added, 1 removed, 1 changed, 1 unchanged), 1 rejected.',
      '+ new_one',
      '- get_shop',
      '~ list_pets: description',
      'Rejected: PUT /pets/{id}/photo: its body is "image/png": tools send JSON, forms and text',
    ])
    expect(dry.out).toContain('Kept your timeout_ms, implementation.pick of list_pets')
    expect(dry.err).toContain('Dry run: nothing was written.')
    expect((await read('tools/pet-store.json'))[2].description).toBe('Mine.')

    await run('pets.yaml')
    const after = await read('tools/pet-store.json')
    expect(after.map(({ name }: { name: string }) => name)).toEqual(['add_pet', 'list_pets', 'new_one'])
    expect(after[1]).toEqual({ ...list, timeout_ms: 500, implementation: { ...list.implementation, pick: ['name'] } })
  })

  test('with --include, --prefix, --base-url and --into', async () => {
    const { json, read, write } = await importFolder()
    const config = '{\n  "tools": {\n    "registry": [\n      { "name": "mine" }\n    ]\n  }\n}\n'
    await write('conf/mine.json', config)
    const options = [
      '--include',
      'shops',
      '/pets',
      '--prefix',
      'my',
      '--base-url',
      'https://other.example/api',
      '--into',
      'mine/pets.json',
    ]
    const report = await json('pets.yaml', ...options, '--config', 'conf/mine.json')
    expect(report).toMatchObject({
      code: 0,
      file: 'mine/pets.json',
      found: 4,
      mapped: 3,
      variables: ['OTHER_EXAMPLE_TOKEN'],
      included: true,
    })
    const [add] = await read('conf/mine/pets.json')
    expect(add).toMatchObject({
      name: 'my_add_pet',
      implementation: { url: 'https://other.example/api/pets', auth: { token: '${OTHER_EXAMPLE_TOKEN}' } },
    })
    expect((await read('conf/mine.json')).tools.registry[1]).toEqual({ include: 'mine/pets.json' })
  })

  test('--json prints the full report', async () => {
    const { json, has } = await importFolder()
    const { code, ...report } = await json('pets.yaml', '--dry-run', '--include', 'pets')
    expect(report).toEqual({
      file: 'tools/pet-store.json',
      written: false,
      included: false,
      title: 'Pet Store',
      found: 4,
      mapped: 2,
      excluded: 2,
      refused: [],
      notes: [],
      secured: true,
      variables: ['PETS_EXAMPLE_TOKEN'],
      webhooks: [],
      callbacks: [],
      added: ['add_pet', 'list_pets'],
      removed: [],
      changed: [],
      unchanged: [],
      kept: [],
    })
    expect(code).toBe(0)
    expect(has('tools') || has('toolyard.config.json')).toBe(false)
  })

  test('notes disabled tools, missing authentication, webhooks and callbacks', async () => {
    const webhooks = { webhooks: { a: {}, b: {}, c: {}, d: {} } }
    const {
      security: _,
      components: { schemas },
      ...open
    } = PETS
    const { run } = await importFolder({
      'a.json': { ...open, components: { schemas }, ...webhooks },
      'toolyard.config.json': {},
    })
    const { err } = await run('a.json')
    expect(err).toContain('Not imported, because the API sends these: 4 webhooks (a, b, c, …)\n')
    expect(err).toContain(
      'The document declares no authentication: add "auth" to the tools that need it. Later imports keep it.\n',
    )
    expect(err).toContain('Tools are disabled')
  })
})

test('files beside the document are read, others are not', async () => {
  const { folder, json, read } = await importFolder({
    'api/openapi.yaml': stringify({
      ...PETS,
      paths: {
        '/a': { $ref: 'paths/a.yaml' },
        '/b': { $ref: '../secret.yaml' },
        '/c': { $ref: 'link.yaml' },
        '/d': { $ref: 'gone.yaml' },
        '/e': { $ref: 'https://pets.example/e.yaml' },
      },
    }),
    'api/paths/a.yaml':
      'get: {operationId: a, summary: A, security: [], parameters: [{$ref: "../common.json#/limit"}]}',
    'api/common.json': { limit: { name: 'limit', in: 'query', schema: { type: 'integer' } } },
    'secret.yaml': 'get: {operationId: secret}',
  })
  await symlink(join(folder, 'secret.yaml'), join(folder, 'api/link.yaml'))
  const report = await json('api/openapi.yaml')
  expect(report.refused).toEqual([
    { operation: '* /b', reason: '$ref "../secret.yaml" is remote: only files next to the document are read' },
    { operation: '* /c', reason: '$ref "link.yaml": it is outside the folder of the document' },
    { operation: '* /d', reason: '$ref "gone.yaml": there is no such file' },
    {
      operation: '* /e',
      reason: '$ref "https://pets.example/e.yaml" is remote: only files next to the document are read',
    },
  ])
  expect((await read('tools/pet-store.json'))[0]).toMatchObject({
    name: 'a',
    parameters: { properties: { limit: { type: 'integer' } } },
  })
})

test('from the web: read under the rules of HTTP tools, and the tools can be called', async () => {
  const asked: string[] = []
  const document = { ...PETS, servers: [{ url: '/v1' }] }
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
    if (request.url === '/old.json') response.writeHead(302, { location: '/docs/openapi.json' }).end()
    else if (request.url === '/docs/openapi.json') response.end(JSON.stringify(document))
    else if (request.url?.startsWith('/v1/'))
      response.setHeader('content-type', 'application/json').end('{"name":"Rex"}')
    else response.writeHead(404).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const {
    json,
    run,
    toolyard: command,
  } = await importFolder({
    'toolyard.config.json': { tools: { enabled: true }, http: { allow_private: ['127.0.0.1/32'] } },
  })
  expect(await json(`${origin}/gone.json`)).toMatchObject({
    code: 1,
    error: `${origin}/gone.json cannot be read: the server responded with 404.`,
  })
  const { code, err } = await run(`${origin}/old.json`)
  expect(code).toBe(0)
  expect(err).toContain(`… reading ${origin}/old.json\n`)
  expect(err).toContain('Note: GET /pets (and 2 more): it is called over http, without encryption\n')
  const called = await command(['exec', 'add_pet', 'name=Rex', '--json'], { API_127_0_0_1_TOKEN: 'secret-token' })
  expect(JSON.parse(called.out)).toMatchObject({ success: true, result: { name: 'Rex' } })
  expect(asked.at(-1)).toBe('POST /v1/pets Bearer secret-token')
})
