import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { readDocumentFile } from './read-document.ts'

const isolate = new ProcessPool()
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-documents-'))
})

afterAll(async () => {
  await isolate.close()
  await rm(folder, { recursive: true })
})

const read = (name: string) => readDocumentFile(join(folder, name), { name, isolate })
const refused = (reason: string, message: string) =>
  expect.objectContaining({ name: 'UnreadableDocument', reason, message: expect.stringContaining(message) })

test('reads a file', async () => {
  await writeFile(join(folder, 'a.md'), `# A\n\n${'text '.repeat(2000)}`)
  const { title, text } = await read('a.md')
  expect(title).toBe('A')
  expect(text.length).toBe(10_005)
})

test('rejects a large file before reading it', async () => {
  // Sparse files: reading them would take their full size.
  const most = { 'a.txt': 64, 'a.pdf': 32, 'a.json': 32, 'a.csv': 32, 'a.html': 64 }
  for (const [name, megabytes] of Object.entries(most)) {
    await writeFile(join(folder, name), name === 'a.pdf' ? '%PDF-1.7' : ' ')
    await truncate(join(folder, name), 500 * 1024 * 1024)
    await expect(read(name)).rejects.toThrow(refused('too-large', `500.0 MB, but a`))
    await expect(read(name)).rejects.toThrow(`at most ${megabytes} MB`)
  }
})

test('rejects an image by its first bytes', async () => {
  await writeFile(join(folder, 'b.txt'), Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  await truncate(join(folder, 'b.txt'), 60 * 1024 * 1024)
  await expect(read('b.txt')).rejects.toThrow(refused('binary', '"b.txt" cannot be read: it looks like a PNG image'))
})

test('reads an empty file', async () => {
  for (const name of ['e.md', 'e.pdf', 'e.html', 'e.json', 'e.csv']) {
    await writeFile(join(folder, name), '')
    expect(await read(name)).toMatchObject({ text: '', title: name, blocks: [] })
  }
})

test('rejects pipes and folders without waiting', async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await expect(read('pipe')).rejects.toThrow(refused('no-file', "it isn't a file"))
  await expect(read('.')).rejects.toThrow(refused('no-file', "it isn't a file"))
  await expect(read('nothing.md')).rejects.toThrow(refused('no-file', 'there is no such file'))
})
