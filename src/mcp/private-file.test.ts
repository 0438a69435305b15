import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PrivateFile } from './private-file.ts'

interface Count {
  readonly count: number
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-private-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('only the owner can read the file and a folder that was made for it', async () => {
  const folder = join(await emptyFolder(), 'data')
  await new PrivateFile<Count>(join(folder, 'a.json')).update('x', () => ({ count: 1 }))
  expect((await stat(join(folder, 'a.json'))).mode & 0o777).toBe(0o600)
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
})

test('a file that others could read is closed to them when it is written', async () => {
  const path = join(await emptyFolder(), 'a.json')
  await writeFile(path, '{"x":{"count":1}}', { mode: 0o644 })
  await new PrivateFile<Count>(path).update('y', () => ({ count: 2 }))
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ x: { count: 1 }, y: { count: 2 } })
})

test('writers wait for each other, so that none undoes what another did', async () => {
  const folder = await emptyFolder()
  const path = join(folder, 'a.json')
  const more = (old: Count = { count: 0 }) => ({ count: old.count + 1 })
  await Promise.all(Array.from({ length: 10 }, () => new PrivateFile<Count>(path).update('x', more)))
  expect(await new PrivateFile<Count>(path).read('x')).toEqual({ count: 10 })
  expect(await readdir(folder)).toEqual(['a.json'])
})

test('a writer that died is not waited for', async () => {
  const path = join(await emptyFolder(), 'a.json')
  await writeFile(`${path}.next`, 'half')
  const minutesAgo = new Date(Date.now() - 120_000)
  await utimes(`${path}.next`, minutesAgo, minutesAgo)
  await new PrivateFile<Count>(path).update('x', () => ({ count: 1 }))
  expect(await new PrivateFile<Count>(path).read('x')).toEqual({ count: 1 })
})

test('what is taken away is gone, and the rest stays', async () => {
  const file = new PrivateFile<Count>(join(await emptyFolder(), 'a.json'))
  await file.update('x', () => ({ count: 1 }))
  await file.update('__proto__', () => ({ count: 2 }))
  await file.update('x', () => undefined)
  expect([await file.read('x'), await file.read('__proto__')]).toEqual([undefined, { count: 2 }])
})

test.each(['', '{"x":', '[]', '{"x":1}', 'null'])(
  'a damaged file (%s) is left as it is, and said to be so',
  async (text) => {
    const path = join(await emptyFolder(), 'a.json')
    await writeFile(path, text)
    const file = new PrivateFile<Count>(path)
    const message = 'a.json in the data folder is damaged: fix or delete it'
    await expect(file.read('x')).rejects.toThrow(message)
    await expect(file.update('x', () => ({ count: 1 }))).rejects.toThrow(message)
    expect(await readFile(path, 'utf8')).toBe(text)
    expect(await readdir(join(path, '..'))).toEqual(['a.json'])
  },
)
