import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PinFile } from './pinned-tools.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'toolyard-pins-')), 'data')
  file = join(folder, 'mcp-pins.json')
})

afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }))

describe('PinFile', () => {
  test('stores the pins of each server, readable by the owner only', async () => {
    const pins = new PinFile(folder)
    expect(await pins.read('a')).toBeUndefined()
    await pins.write('a', { one: '1', __proto__x: '2' })
    await pins.write('b', {})
    await pins.write('a', { one: '3' })
    const again = new PinFile(folder)
    expect([await again.read('a'), await again.read('b'), await again.read('c')]).toEqual([{ one: '3' }, {}, undefined])
    expect([(await stat(file)).mode & 0o777, (await stat(folder)).mode & 0o777]).toEqual([0o600, 0o700])
    expect(await readdir(folder)).toEqual(['mcp-pins.json'])
  })

  test('does not treat inherited names as pins', async () => {
    const pins = new PinFile(folder)
    await pins.write('a', {})
    expect(await pins.read('constructor')).toBeUndefined()
  })

  test('concurrent writers in several processes lose nothing', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `here-${index}`)
    const writer = `const { PinFile } = await import(${JSON.stringify(import.meta.resolve('./pinned-tools.ts'))});
      await Promise.all(Array.from({ length: 20 }, (_, i) => new PinFile(${JSON.stringify(folder)}).write('there-' + i + process.argv[1], { t: 'x' })))`
    const others = ['a', 'b'].map((id) =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', writer, id]),
    )
    const shared = new PinFile(folder)
    await Promise.all([...others, ...names.map((name) => shared.write(name, { t: 'x' }))])
    expect(Object.keys(JSON.parse(await readFile(file, 'utf8')))).toHaveLength(60)
  })

  test.each(['', '{"a":', '[]', '{"a":"x"}'])('reports a damaged file (%j) and does not change it', async (text) => {
    await mkdir(folder)
    await writeFile(file, text)
    const pins = new PinFile(folder)
    await expect(pins.read('a')).rejects.toThrow('mcp-pins.json in the data folder is damaged: fix or delete it')
    await expect(pins.write('a', {})).rejects.toThrow('is damaged')
    expect([await readFile(file, 'utf8'), await readdir(folder)]).toEqual([text, ['mcp-pins.json']])
  })

  test('reports an unreadable file and does not change it', async () => {
    await mkdir(file, { recursive: true })
    await expect(new PinFile(folder).read('a')).rejects.toThrow('cannot be read (EISDIR)')
    await expect(new PinFile(folder).write('a', {})).rejects.toThrow('cannot be read (EISDIR)')
    expect(await readdir(folder)).toEqual(['mcp-pins.json'])
  })

  test('a folder that cannot be is said', async () => {
    await writeFile(folder, '')
    await expect(new PinFile(join(folder, 'in')).write('a', {})).rejects.toThrow('cannot be written (ENOTDIR)')
  })

  test('what a writer left behind that died does not hold up the next', async () => {
    await mkdir(folder)
    const left = `${file}.next`
    await writeFile(left, '{"half":')
    const long = new Date(Date.now() - 60_000)
    await utimes(left, long, long)
    await new PinFile(folder).write('a', { t: 'x' })
    expect(await new PinFile(folder).read('a')).toEqual({ t: 'x' })
  })
})
