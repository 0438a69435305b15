import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { ModelError } from '../model-error.ts'
import { type Engine, findEngine, llamaWire } from './llama-wire.ts'

const settings = { name: 'llama', type: 'llama' }
const around = { log: silentLog, clock: systemClock }
const request = { messages: [{ role: 'user' as const, content: 'Hi' }], tools: [] }

class Missing extends Error {}

/** The package without its program for this machine; with both, see `npm run test:llm`. */
const withoutProgram = {
  NoBinaryFoundError: Missing,
  InsufficientMemoryError: class extends Error {},
  getLlama: () => Promise.reject(new Missing('no binary')),
} as unknown as Engine

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-llama-'))
  await mkdir(join(folder, 'models'))
  await writeFile(join(folder, 'models', 'tinyllama.gguf'), 'GGUF')
  vi.stubEnv('TOOLYARD_DATA', folder)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

const open = () => llamaWire(settings, around, () => async () => withoutProgram)
const ask = (model: string) => open().stream(model, request)[Symbol.asyncIterator]().next()

describe('llama:', () => {
  test('where the package is not installed, making it says what to install', () => {
    const places = [pathToFileURL(join(folder, 'x.js')).href]
    const make = () => llamaWire(settings, around, (provider) => findEngine(provider, places))
    expect(make).toThrow(ModelError)
    expect(make).toThrow(
      'The provider llama needs the package node-llama-cpp, which is not installed: npm install node-llama-cpp',
    )
  })

  test('where the program for this machine is not installed, the first question says what to install', async () => {
    await expect(ask('tinyllama')).rejects.toThrow(ModelError)
    await expect(ask('tinyllama')).rejects.toThrow(/npm install @node-llama-cpp\/(linux|mac|win)-/)
  })

  test.each([
    ['tinylama', "no model file for llama:tinylama. Did you mean 'tinyllama'?"],
    ['other-model', 'There are: tinyllama. "toolyard models add FILE|URL" adds one.'],
    ['../models/tinyllama', 'no model file for llama:../models/tinyllama'],
  ])('a model that is not there is named, with what there is: %s', async (name, message) => {
    await expect(ask(name)).rejects.toThrow(ModelError)
    await expect(ask(name)).rejects.toThrow(message)
  })

  test('lists the files in the models folder', async () => {
    expect(await open().list?.(AbortSignal.timeout(60_000))).toMatchObject([{ name: 'tinyllama' }])
    await rm(join(folder, 'models'), { recursive: true })
    expect(await open().list?.(AbortSignal.timeout(60_000))).toEqual([])
  })

  test('models write calls as text only where no grammar holds them', () => {
    expect(open().printsCalls).toBe(false)
    const free = { ...settings, grammar: false }
    expect(llamaWire(free, around, () => async () => withoutProgram).printsCalls).toBe(true)
  })

  test('closes, whatever it did or did not load', async () => {
    const wire = open()
    await expect(wire.stream('tinyllama', request)[Symbol.asyncIterator]().next()).rejects.toThrow(ModelError)
    await wire.close()
  })
})
