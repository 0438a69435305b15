import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { captureTerminal } from '../fixtures/toolyard.ts'
import { UsageError } from '../usage-error.ts'
import { modelsAdd } from './models-add.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-models-add-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const open = (json: boolean) => captureTerminal({ json, env: { TOOLYARD_DATA: join(folder, 'data') } })

describe('models add', () => {
  test('prints the name to call the model by, and on stderr how far it is, where it lies and its hash', async () => {
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

  test('gives one document under --json', async () => {
    const source = join(folder, 'tiny.gguf')
    await writeFile(source, 'GGUF')
    const { terminal, written } = open(true)
    expect(await modelsAdd(terminal, source, {})).toBe(0)
    expect(JSON.parse(written.out)).toMatchObject({ name: 'tiny', bytes: 4 })
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
