import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'
import { modelsAdd } from './models-add.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-models-add-'))
  vi.stubEnv('TOOLYARD_DATA', join(folder, 'data'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

function open(json: boolean) {
  const written = { results: [] as string[], documents: [] as unknown[], notes: [] as string[] }
  const terminal: Terminal = {
    json,
    watched: false,
    columns: 80,
    write: (text) => void written.results.push(text),
    result: (text) => void written.results.push(text),
    document: (value) => void written.documents.push(value),
    note: (text) => void written.notes.push(text),
    style: (_, text) => text,
    styleNote: (_, text) => text,
  }
  return { terminal, written }
}

describe('models add', () => {
  test('prints the name to call the model by, and on stderr how far it is, where it lies and its hash', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, `GGUF${'x'.repeat(1_000_000)}`)
    const { terminal, written } = open(false)
    expect(await modelsAdd(terminal, source, {})).toBe(0)
    expect(written.results).toEqual(['llama:tiny'])
    const file = join(folder, 'data', 'models', 'tiny.gguf')
    expect(await readFile(file, 'utf8')).toMatch(/^GGUFx+$/)
    expect(written.notes).toContain('… fetching 1.0 MB of 1.0 MB')
    expect(written.notes.at(-1)).toMatch(new RegExp(`^${file}, 1\\.0 MB, SHA-256 [0-9a-f]{64}$`))
  })

  test('gives one document under --json', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, 'GGUF')
    const { terminal, written } = open(true)
    expect(await modelsAdd(terminal, source, {})).toBe(0)
    expect([written.results, written.documents]).toMatchObject([[], [{ name: 'tiny', bytes: 4 }]])
  })

  test('wrong usage is told apart from what failed', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, 'GGUF')
    const { terminal } = open(false)
    await expect(modelsAdd(terminal, join(folder, 'none.gguf'), {})).rejects.toThrow(UsageError)
    await expect(modelsAdd(terminal, source, { sha256: 'abc' })).rejects.toThrow(UsageError)
    const failed = modelsAdd(terminal, source, { sha256: '0'.repeat(64) })
    await expect(failed).rejects.toThrow('not the one that was meant')
    await expect(failed).rejects.not.toThrow(UsageError)
  })
})
