import { mkdtempSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { captureLog } from '../../../testing/capture-log.ts'
import { ModelError } from '../../model-error.ts'
import { findPackages } from './find-packages.ts'
import type { Pair } from './pair-scorer.ts'
import { ProcessScorer, type ProcessScorerOptions } from './process-scorer.ts'

const packages = findPackages('mini')
const made: ProcessScorer[] = []
const scorer = (options: Partial<ProcessScorerOptions> = {}): ProcessScorer => {
  const one = new ProcessScorer({ packages, name: 'mini:v0', log: captureLog(), ...options })
  made.push(one)
  return one
}
afterEach(async () => {
  await Promise.all(made.splice(0).map((one) => one.close()))
})

/** Answers as the process of the model does, without the model. */
const QUICK = `
  const span = { from: [], to: [], start: [], end: [], absent: 0 }
  process.on('disconnect', () => process.exit())
  process.on('message', ({ type, id, pairs }) => {
    if (type === 'load') process.send({ type: 'loaded' })
    else setTimeout(() => process.send({ type: 'scored', id, scores: pairs.map(() => ({ relevance: 1, span })) }), 20)
  })
`
const programs = mkdtempSync(join(tmpdir(), 'mini-programs-'))
afterAll(() => rm(programs, { recursive: true }))
const quick = join(programs, 'quick.mjs')
writeFileSync(quick, QUICK)

const weather: Pair = { meant: 'tool: get weather. Get the weather needs: location', said: 'weather in Zürich, İzmir?' }
const place: Pair = { meant: 'value: location: City name of get weather', said: 'weather in Zürich, İzmir?' }

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
const gone = async (pid: number): Promise<void> => {
  while (isAlive(pid)) await later(20)
}

describe('the process of the model', { timeout: 60_000 }, () => {
  test('scores pairs, and says where in the sentence a value stands', async () => {
    const [tool, value] = await scorer().score([weather, place])
    expect(tool?.relevance).toBeGreaterThan(0.9)
    const { from, to, start } = (value as NonNullable<typeof value>).span
    const best = start.indexOf(Math.max(...start))
    expect(place.said.slice(from[best], to[best])).toBe('Zürich')
    expect(from.map((at, index) => place.said.slice(at, to[index]))).toEqual([
      'weather',
      'in',
      'Zürich',
      ',',
      'İ',
      'z',
      'mir',
      '?',
    ])
  })

  test('requests at the same time share batches, and each gets its own scores', async () => {
    const one = scorer()
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, index) => one.score(index % 2 ? [weather, place] : [place])),
    )
    expect(many.map((scores) => scores.length)).toEqual(Array.from({ length: 12 }, (_, index) => (index % 2 ? 2 : 1)))
    // Whoever else asks at the same time makes no difference, not even a small one.
    expect(many[1]?.[1]).toEqual(many[0]?.[0])
    expect((await one.score([place]))[0]).toEqual(many[0]?.[0])
    expect(await one.score([])).toEqual([])
  })

  test('a process that is killed is replaced, and nobody notices', async () => {
    const one = scorer({ program: quick })
    await one.score([weather])
    const before = one.pid as number
    const scoring = one.score(Array.from({ length: 40 }, () => weather))
    process.kill(before, 'SIGKILL')
    expect(await scoring).toHaveLength(40)
    expect(one.pid).not.toBe(before)
    expect(isAlive(before)).toBe(false)
  })

  test('one that never loads is given up, and what waits fails with a sentence', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mini-'))
    try {
      const program = join(folder, 'ends.mjs')
      await writeFile(program, 'process.exit(3)')
      const failure = await scorer({ program })
        .score([weather])
        .catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(ModelError)
      expect(failure).toMatchObject({
        retryable: true,
        message: 'The process of mini:v0 ended before it answered. Ask again.',
      })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('files that are not what they should be are named as the reason', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mini-'))
    try {
      await writeFile(join(folder, 'model.int8.onnx'), 'no model')
      await expect(scorer({ weights: folder }).score([weather])).rejects.toThrow(
        'The model mini:v0 could not be used: its files are damaged. Install Toolyard again.',
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('the faster engine is taken where it is installed and works, else the other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mini-'))
    try {
      const faster = join(folder, 'node_modules', 'onnxruntime-node')
      const used = join(folder, 'used')
      await mkdir(faster, { recursive: true })
      await writeFile(join(faster, 'package.json'), '{ "name": "onnxruntime-node", "main": "index.js" }')
      const places = [pathToFileURL(join(folder, 'x.js')).href, import.meta.url]
      const code = (more: string): Promise<void> =>
        writeFile(join(faster, 'index.js'), `require('node:fs').appendFileSync(${JSON.stringify(used)}, '+'); ${more}`)
      await code(`module.exports = require(${JSON.stringify(fileURLToPath(packages.runtimes.at(-1) ?? ''))})`)
      expect(await scorer({ packages: findPackages('mini', places) }).score([weather])).toHaveLength(1)
      await code('throw new Error("for another machine")')
      expect(await scorer({ packages: findPackages('mini', places) }).score([weather])).toHaveLength(1)
      expect(await readFile(used, 'utf8')).toBe('++')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('an abort is thrown at once, and the others go on', async () => {
    const one = scorer({ program: quick })
    const controller = new AbortController()
    const reason = new Error('enough')
    const aborted = one.score([weather], controller.signal)
    const other = one.score([place])
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    expect(await other).toHaveLength(1)
  })

  test('without work it ends, and comes back', async () => {
    const one = scorer({ program: quick, idleMs: 50 })
    await one.score([weather])
    await gone(one.pid ?? 0)
    expect(await one.score([weather])).toHaveLength(1)
  })

  test('once closed it is gone, and says so', async () => {
    const one = scorer({ program: quick })
    await one.score([weather])
    const pid = one.pid as number
    await one.close()
    expect(isAlive(pid)).toBe(false)
    await expect(one.score([weather])).rejects.toThrow('The model mini:v0 is closed.')
  })
})
