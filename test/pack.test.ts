import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startServer } from './servers/start-server.ts'
import { FULL } from './setup/full.ts'
import { parseSource } from './setup/source-file.ts'

// npm, a compiler and several programs, on a machine that may be busy.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 })

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

const CORE_CONSUMER = `
import { createToolyard, isolated, tool } from '@toolyard/core'
import { aiSdkModel } from '@toolyard/core/ai-sdk'
import { scripted } from '@toolyard/core/testing'

const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false } as const
const double = tool({ name: 'double', description: 'Doubles.', input, effect: 'read', execute: ({ n }) => n * 2 })
const square = tool({
  name: 'square',
  description: 'Squares.',
  input,
  execute: isolated(new URL('./handler.ts', import.meta.url), 'square'),
})
const fails = tool({
  name: 'fails',
  description: 'Fails.',
  input,
  execute: () => {
    throw new Error('No.')
  },
})
await using yard = await createToolyard({ tools: [double, square, fails] })
const doubled = await yard.call('double', { n: 4 })
if (!doubled.success || doubled.result !== 8) throw new Error(JSON.stringify(doubled))
const squared = await yard.call('square', { n: 4 })
if (!squared.success || squared.result !== 16) throw new Error(JSON.stringify(squared))
if ((await yard.call('fails', { n: 4 })).success) throw new Error('It did not fail')
const model = scripted({ calls: [{ name: 'double', arguments: { n: 2 } }] }, 'It is 4.')
const { content } = await yard.run({ model, prompt: 'Twice 2?' })
if (content !== 'It is 4.' || typeof aiSdkModel !== 'function') throw new Error(String(content))
`

const COMPILER_OPTIONS = {
  target: 'es2024',
  lib: ['es2024'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  // Our declarations are checked too, as they are read.
  skipLibCheck: false,
}

/** Of the npm that runs the tests, the one below gets these: on another Node it would look for them elsewhere. */
const NPM_FILES = ['npm_config_globalconfig', 'npm_config_userconfig', 'npm_config_cache']

/** Runs a program on the Node of this test, otherwise as a newcomer would. */
async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  return (await output(cwd, program, ...args)).stdout
}

async function output(cwd: string, program: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => NPM_FILES.includes(name) || !/^(npm_|NODE_ENV$|NODE_OPTIONS$|VITEST)/i.test(name),
    ),
  )
  env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`
  return promisify(execFile)(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }).catch((error) => {
    throw new Error(`${program} ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`)
  })
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

/** Makes a project with these packages; gives its folder. */
async function project(name: string, ...packages: readonly string[]): Promise<string> {
  const folder = join(projects, name)
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }))
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=1']
  await run(folder, 'npm', 'install', ...quiet, ...packages)
  return folder
}

/** A package in the version that is installed here. */
async function installed(name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8'))
  return `${name}@${version}`
}

/** The packages of a project, as npm counts them, and their size in MB. */
function weight(folder: string): { packages: number; megabytes: number } {
  const modules = join(folder, 'node_modules')
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'))
  let bytes = 0
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size
  }
  const found = { packages: Object.keys(packages).length, megabytes: Math.ceil(bytes / 1_000_000) }
  console.log(`${folder}: ${found.packages} packages, ${found.megabytes} MB`)
  return found
}

/** Faults in our declarations count; some packages have declarations that are wrong under strict settings. */
const FOREIGN = /^node_modules\/(?!(@toolyard|toolyard)\/)/

/** Type-checks files of a project. */
async function typeCheck(folder: string, files: readonly string[], module: object = { module: 'nodenext' }) {
  const config = { compilerOptions: { ...COMPILER_OPTIONS, ...module }, files }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const printed = await run(folder, process.execPath, compiler, '-p', '.').catch((error: Error) => error.message)
  expect(printed.split('\n').filter((line) => line.includes('error TS') && !FOREIGN.test(line))).toEqual([])
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

const TOOLYARD = [
  'bin/toolyard.js',
  'toolyard.config.json',
  'toolyard.config.schema.json',
  'docs/reference/errors.md',
  'LICENSE',
]
const MINI = ['index.js', 'scores.json', 'weights/model.int8.onnx', 'weights/tokenizer.json', 'NOTICE']
const PACKAGES = ['.', './packages/core', './packages/mini']
const NOT_SHIPPED = /\.test\.|\/fixtures\/|^(src|test|spec|scripts|bench|examples|train)\//

test('the packages hold the built code, the configuration, the documents and the weights, and neither sources nor tests', async () => {
  const mini = join(root, 'packages/mini')
  const [ours, core, its] = (await pack(root, '--dry-run', '--ignore-scripts', ...PACKAGES)) as [Packed, Packed, Packed]
  expect(ours.shipped).toEqual(expect.arrayContaining(TOOLYARD))
  expect(core.shipped).toEqual(expect.arrayContaining(['package.json', 'README.md']))
  expect(its.shipped).toEqual(expect.arrayContaining(MINI))
  // What an earlier build left may be anything.
  const left = [...ours.shipped, ...core.shipped, ...its.shipped].filter((path) => !path.startsWith('dist/'))
  expect(left.filter((path) => NOT_SHIPPED.test(path))).toEqual([])
  for (const folder of [root, mini]) {
    const sources = await compiled(folder)
    expect(sources).toContain('src/index.ts')
    expect(sources.filter((path) => /\.test\.|\/fixtures\//.test(path))).toEqual([])
  }
})

/** Where the projects below are, and the tarballs that they install. */
let projects: string
let packed: Packed[]
const tarball = (at: number): string => join(projects, packed[at]?.filename ?? '')

describe.runIf(FULL)('the packages, packed', () => {
  beforeAll(async () => {
    projects = await mkdtemp(join(tmpdir(), 'toolyard-pack-'))
    const [toolyard, ...rest] = PACKAGES
    // The build of Toolyard makes what the others ship.
    packed = [
      ...(await pack(root, '--pack-destination', projects, toolyard as string)),
      ...(await pack(root, '--ignore-scripts', '--pack-destination', projects, ...rest)),
    ]
  })

  afterAll(() => rm(projects, { recursive: true, force: true }))

  test('hold what was built', () => {
    expect(packed).toHaveLength(3)
    for (const { shipped } of packed) {
      expect(shipped.join()).toMatch(/dist\/(library\/)?index\.js/)
      expect(shipped.filter((path) => NOT_SHIPPED.test(path))).toEqual([])
    }
    const [ours, core] = packed.map(({ shipped }) => shipped.filter((path) => /^dist\/.*\.js$/.test(path))) as [
      string[],
      string[],
    ]
    // The entries of both packages only pass on what is in core.
    expect(ours.filter((path) => core.includes(path)).every((path) => /^dist\/(library|testing)\//.test(path))).toBe(
      true,
    )
  })

  describe('@toolyard/core alone', () => {
    let folder: string

    beforeAll(async () => {
      folder = await project('core', tarball(1))
    })

    test('installs at most 30 packages and 20 MB', () => {
      const { packages, megabytes } = weight(folder)
      expect(packages).toBeLessThanOrEqual(30)
      expect(megabytes).toBeLessThanOrEqual(20)
    })

    test('type-checks and runs a strict program, isolated handlers included, and prints nothing', async () => {
      await run(
        folder,
        'npm',
        'install',
        '--prefer-offline',
        '--no-audit',
        '--no-fund',
        '--no-package-lock',
        await installed('@types/node'),
      )
      await writeFile(join(folder, 'consumer.ts'), CORE_CONSUMER)
      await writeFile(join(folder, 'handler.ts'), 'export const square = ({ n }: { n: number }) => n * n\n')
      await typeCheck(folder, ['consumer.ts'])
      expect(await output(folder, process.execPath, 'consumer.ts')).toEqual({ stdout: '', stderr: '' })
    })
  })

  describe('toolyard without its optional packages', () => {
    let folder: string
    let program: string

    beforeAll(async () => {
      folder = await project('bare', tarball(0), tarball(1))
      program = join(folder, 'node_modules/toolyard/bin/toolyard.js')
    })

    test('installs at most 150 packages and 150 MB', () => {
      const { packages, megabytes } = weight(folder)
      expect(packages).toBeLessThanOrEqual(150)
      expect(megabytes).toBeLessThanOrEqual(150)
    })

    test.each([
      [
        { TOOLYARD_DATABASE_URL: 'postgres://127.0.0.1:1/none' },
        'PostgreSQL needs the packages pg, pg-boss: npm install',
      ],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, 'OTLP export needs the packages @opentelemetry/'],
    ])('says in one line what to install: %j', async (env, line) => {
      const failure: Error = await startServer(env as Record<string, string>, folder, program).then(
        ({ process }) => {
          process.kill('SIGKILL')
          throw new Error('The server started')
        },
        (error) => error,
      )
      expect(failure.message).toContain(line)
      expect(failure.message).not.toContain('node_modules')
    })

    test('serves without mini, and says how to install it', async () => {
      const server = await startServer({}, folder, program)
      try {
        const answer = await fetch(`${server.url}/api/models/list`)
        expect(JSON.stringify(await answer.json())).toContain(
          'needs the package @toolyard/mini. Install it: docs/start/install.md',
        )
        expect(await server.end()).toBe(0)
      } finally {
        server.process.kill('SIGKILL')
      }
    })

    test('shares the classes of core', async () => {
      const program = `
        import { ToolExecutor } from '@toolyard/core'
        import { ToolManager } from 'toolyard'
        const manager = new ToolManager({ tools: { enabled: true } })
        console.log(manager.getExecutor() instanceof ToolExecutor)
        await manager.close()`
      expect(await run(folder, process.execPath, '--input-type=module', '--eval', program)).toBe('true\n')
    })
  })

  describe('toolyard with mini', () => {
    let folder: string

    beforeAll(async () => {
      folder = await project('whole', tarball(0), tarball(1), tarball(2), await installed('@types/node'))
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
        expect((await fetch(`${server.url}/guide/start/install.html`)).status).toBe(200)
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
      await typeCheck(folder, ['consumer.ts'])
      await typeCheck(folder, ['consumer.ts'], { module: 'esnext', moduleResolution: 'bundler' })
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

    test('does every example, under strict settings and without a word on stderr', async () => {
      const names = (await readdir(join(root, 'examples'))).filter((name) => /^[a-z-]+\.ts$/.test(name))
      const examples = [...names, 'isolated-handler/main.ts']
      const imports = await Promise.all(
        examples.map(async (name) => parseSource(name, await readFile(join(root, 'examples', name), 'utf8')).imports),
      )
      const packages = imports.flat().filter(({ ours, target }) => !ours && !/^(node:|toolyard)/.test(target))
      const needed = new Set(packages.map(({ target }) => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0] as string))
      const examplesFolder = await project(
        'examples',
        ...[tarball(0), tarball(1), await installed('@types/node')],
        ...(await Promise.all([...needed].map(installed))),
      )
      for (const name of [...names, 'isolated-handler']) {
        await cp(join(root, 'examples', name), join(examplesFolder, name), { recursive: true })
      }
      await typeCheck(examplesFolder, examples)
      for (const name of examples) {
        const { stderr } = await output(examplesFolder, process.execPath, name)
        expect(stderr, name).toBe('')
      }
    })

    test('offers what tests of tools need as toolyard/testing', async () => {
      const program = "console.log(Object.keys(await import('toolyard/testing')).length > 0)"
      expect(await run(folder, process.execPath, '--input-type=module', '--eval', program)).toBe('true\n')
    })
  })
})
