import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startServer } from './servers/start-server.ts'
import { FULL } from './setup/full.ts'

// npm, a compiler and several programs, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const root = fileURLToPath(new URL('..', import.meta.url))

const CONSUMER = `
import { ToolManager } from 'toolyard'

const manager = new ToolManager({
  tools: {
    enabled: true,
    registry: [
      {
        name: 'get_weather',
        description: 'Tells the weather.',
        parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
        implementation: { type: 'mock', mock_response: { temperature: 22 } },
      },
    ],
  },
})
await manager.loadTools()
const result = await manager.getExecutor().execute('get_weather', { location: 'Paris' })
const name: string = result.tool_name
console.log(JSON.stringify({ name, result }))
await manager.close()
`

const COMPILER_OPTIONS = {
  target: 'es2024',
  lib: ['es2024'],
  types: ['node'],
  strict: true,
  noEmit: true,
  // Our declarations are checked too, as they are read.
  skipLibCheck: false,
}

/** Of the npm that runs the tests, the one below gets these: on another Node it would look for them elsewhere. */
const NPM_FILES = ['npm_config_globalconfig', 'npm_config_userconfig', 'npm_config_cache']

/** Runs a program on the Node of this test, otherwise as a newcomer would. */
async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => NPM_FILES.includes(name) || !/^(npm_|NODE_ENV$|NODE_OPTIONS$|VITEST)/i.test(name),
    ),
  )
  env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`
  const { stdout } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }).catch(
    (error) => {
      throw new Error(`${program} ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout
}

interface Packed {
  readonly filename: string
  readonly shipped: readonly string[]
}

/** What `npm pack` puts into packages, which it builds first unless it is told to ignore scripts. */
async function pack(folder: string, ...args: string[]): Promise<Packed[]> {
  const printed = await run(folder, 'npm', 'pack', '--json', '--silent', ...args)
  // The build may print lines before it.
  const packed: { filename: string; files: { path: string }[] }[] = JSON.parse(printed.slice(printed.search(/^\[/m)))
  return packed.map(({ filename, files }) => ({ filename, shipped: files.map(({ path }) => path) }))
}

/** The sources that the build of a package compiles to `dist/`. */
async function compiled(folder: string): Promise<string[]> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const files = await run(folder, process.execPath, compiler, '-p', 'tsconfig.build.json', '--listFilesOnly')
  return files
    .split('\n')
    .filter((path) => path.startsWith(join(folder, 'src/')))
    .map((path) => relative(folder, path))
}

const TOOLYARD = ['bin/toolyard.js', 'toolyard.config.json', 'toolyard.config.schema.json', 'docs/errors.md', 'LICENSE']
const MINI = ['index.js', 'scores.json', 'weights/model.int8.onnx', 'weights/tokenizer.json', 'NOTICE']
const NOT_SHIPPED = /\.test\.|\/fixtures\/|^(src|test|spec|scripts|bench|examples|train)\//

test('the packages hold the built code, the configuration, the documents and the weights, and neither sources nor tests', async () => {
  const mini = join(root, 'packages/mini')
  const [ours, its] = (await pack(root, '--dry-run', '--ignore-scripts', '.', mini)) as [Packed, Packed]
  expect(ours.shipped).toEqual(expect.arrayContaining(TOOLYARD))
  expect(its.shipped).toEqual(expect.arrayContaining(MINI))
  // What an earlier build left may be anything.
  const left = [...ours.shipped, ...its.shipped].filter((path) => !path.startsWith('dist/'))
  expect(left.filter((path) => NOT_SHIPPED.test(path))).toEqual([])
  for (const folder of [root, mini]) {
    const sources = await compiled(folder)
    expect(sources).toContain('src/index.ts')
    expect(sources.filter((path) => /\.test\.|\/fixtures\//.test(path))).toEqual([])
  }
})

describe.runIf(FULL)('the package, packed and installed in an empty folder', () => {
  let folder: string
  let packed: Packed[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolyard-pack-'))
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
    packed = [
      ...(await pack(join(root, 'packages/mini'), '--pack-destination', folder)),
      ...(await pack(root, '--pack-destination', folder)),
    ]
    const tarballs = packed.map(({ filename }) => join(folder, filename))
    const types = JSON.parse(await readFile(join(root, 'node_modules/@types/node/package.json'), 'utf8')).version
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=1']
    await run(folder, 'npm', 'install', ...quiet, ...tarballs, `@types/node@${types}`)
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('holds what was built', () => {
    for (const { shipped } of packed) {
      expect(shipped).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts']))
      expect(shipped.filter((path) => NOT_SHIPPED.test(path))).toEqual([])
    }
  })

  test('brings no development dependency', async () => {
    const { packages: ours } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
    const { packages } = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8'))
    expect(packages).toHaveProperty(['node_modules/toolyard'])
    // Those of the consumer, which is a TypeScript program, are its own.
    const own = ['@types/node', 'undici-types']
    // Where another version of a package is for development only, ours stands elsewhere: names tell, not places.
    const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const shipped = new Set(
      Object.entries<{ dev?: boolean }>(ours)
        .filter(([, { dev }]) => !dev)
        .map(([path]) => nameOf(path)),
    )
    const known = new Set(Object.keys(ours).map(nameOf))
    const extra = Object.keys(packages)
      .map(nameOf)
      .filter((name) => known.has(name) && !shipped.has(name) && !own.includes(name))
    expect(extra.filter((name) => name !== 'toolyard')).toEqual([])
  })

  test('serves, and keeps what it is asked', async () => {
    const program = join(folder, 'node_modules/toolyard/bin/toolyard.js')
    const server = await startServer({}, folder, program)
    try {
      const body = JSON.stringify({ tool_name: 'get_weather', params: { location: 'Paris' } })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${server.url}/tools/execute`, { method: 'POST', headers, body })
      expect(await answer.json()).toMatchObject({ success: true, tool_name: 'get_weather' })
      const { rows } = (await (await fetch(`${server.url}/audit`)).json()) as { rows: object[] }
      expect(rows).toMatchObject([{ tool: 'get_weather', outcome: 'success' }])
      expect((await fetch(`${server.url}/docs/`)).status).toBe(200)
      expect(await server.end()).toBe(0)
    } finally {
      server.process.kill('SIGKILL')
    }
  })

  test('ships a configuration whose $schema an editor finds', async () => {
    const shippedFolder = join(folder, 'node_modules/toolyard')
    const { $schema } = JSON.parse(await readFile(join(shippedFolder, 'toolyard.config.json'), 'utf8'))
    const schema = JSON.parse(await readFile(join(shippedFolder, $schema), 'utf8'))
    expect(Object.keys(schema.properties)).toContain('tools')
  })

  test('runs a tool of the configuration that it ships', async () => {
    const printed = await run(folder, 'npx', 'toolyard', 'exec', 'calculate', '{"expression":"2+2"}', '--json')
    expect(JSON.parse(printed)).toMatchObject({ success: true, tool_name: 'calculate', result: { result: 4 } })
  })

  test('serves a TypeScript program, which type-checks and runs', async () => {
    await writeFile(join(folder, 'consumer.ts'), CONSUMER)
    for (const module of [{ module: 'nodenext' }, { module: 'esnext', moduleResolution: 'bundler' }]) {
      const config = { compilerOptions: { ...COMPILER_OPTIONS, ...module }, files: ['consumer.ts'] }
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
      await run(folder, process.execPath, join(root, 'node_modules/typescript/bin/tsc'), '-p', folder)
    }
    expect(JSON.parse(await run(folder, process.execPath, 'consumer.ts'))).toMatchObject({
      name: 'get_weather',
      result: { success: true, result: { temperature: 22 } },
    })
  })

  test('answers with the built-in model', async () => {
    const printed = await run(folder, 'npx', 'toolyard', 'chat', 'turn on the porch light', '--model', 'mini:v1')
    expect(printed).toContain('porch')
  })

  test('can be required', async () => {
    const program = "console.log(typeof require('toolyard').ToolManager)"
    expect(await run(folder, process.execPath, '--input-type=commonjs', '--eval', program)).toBe('function\n')
  })

  test('offers what tests of tools need as toolyard/testing', async () => {
    const program = "console.log(Object.keys(await import('toolyard/testing')).length > 0)"
    expect(await run(folder, process.execPath, '--input-type=module', '--eval', program)).toBe('true\n')
  })
})
