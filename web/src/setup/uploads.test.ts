import { expect, test } from 'vitest'
import { collectionProblem, nextUpload, totals, withFiles, withoutUpload, withUpload } from './uploads.ts'

const FILES = [
  { name: 'a.md', size: 10 },
  { name: 'b.pdf', size: 2_000 },
]

test('sends waiting files in their order', () => {
  const uploads = withFiles([], FILES)
  expect(nextUpload(uploads)?.name).toBe('a.md')
  const sent = withUpload(uploads, 'a.md', { state: 'stored', chunks: 2 })
  expect(nextUpload(sent)?.name).toBe('b.pdf')
  expect(totals(sent)).toEqual({ waiting: 1, sending: 0, stored: 1, failed: 0 })
  expect(nextUpload(withoutUpload(sent, 'b.pdf'))).toBeUndefined()
})

test('a file that is too large or empty fails at once, with what to do', () => {
  const [large, empty] = withFiles(
    [],
    [
      { name: 'x', size: 9_000_000 },
      { name: 'y', size: 0 },
    ],
  )
  expect(large).toMatchObject({ state: 'failed', problem: expect.stringContaining('toolyard ingest') })
  expect(empty).toMatchObject({ state: 'failed', problem: 'The file is empty.' })
})

test('a file replaces one of the same name, but not while that is being sent', () => {
  const failed = withUpload(withFiles([], FILES), 'a.md', { state: 'failed', problem: 'no' })
  expect(withFiles(failed, [{ name: 'a.md', size: 20 }])[0]).toEqual({ name: 'a.md', size: 20, state: 'waiting' })
  const sending = withUpload(failed, 'a.md', { state: 'sending' })
  expect(withFiles(sending, [{ name: 'a.md', size: 20 }])[0]).toMatchObject({ size: 10, state: 'sending' })
})

test('a collection has a name that fits into the name of a tool', () => {
  expect(collectionProblem('manuals-2')).toBeUndefined()
  for (const name of ['', '2', 'my manuals', 'a'.repeat(60)]) expect(collectionProblem(name)).toMatch(/letter/)
})
