import { expect, test } from 'vitest'
import { snapshotParams } from '../../../core/snapshot.ts'
import { documentCalls } from '../../../knowledge/collections/document-calls.ts'
import { preparePart } from '../../../knowledge/collections/ingest-part.ts'
import { splitDocument } from '../../../knowledge/documents/split-document.ts'
import { textDocument } from '../../../knowledge/documents/text-document.ts'

function callsOf(text: string, chunkSize: number) {
  const document = textDocument(text, 'a.md')
  const pieces = splitDocument(document, { chunkSize })
  return { pieces, calls: documentCalls(document.text, pieces) }
}

const sections = (count: number, body: string) =>
  Array.from({ length: count }, (_, index) => `## Section ${index}\n\n${body}\n`).join('\n')

test('bring in every piece once, at its place and under its heading, 100 at most at a time', () => {
  const { pieces, calls } = callsOf(
    `# Title\n\n${sections(250, 'A sentence of some length, so that it stays alone.')}`,
    80,
  )
  expect(calls.length).toBeGreaterThan(2)
  const chunks = calls.flatMap((call) => {
    expect(call.chunks.length).toBeLessThanOrEqual(100)
    return preparePart({ tenant: 'local', collection: 'docs', ...call }, 80).chunks
  })
  expect(chunks).toEqual(pieces)
})

test('overlap if pieces do', () => {
  const { pieces, calls } = callsOf('Words that go on and on without a stop '.repeat(400), 100)
  expect(pieces.some(({ start }, index) => start < (pieces[index - 1]?.end ?? 0))).toBe(true)
  const chunks = calls.flatMap((call) => preparePart({ tenant: 'local', collection: 'docs', ...call }, 100).chunks)
  expect(chunks).toEqual(pieces)
})

test('are no larger than a call may be, whatever the text is made of', () => {
  const { calls } = callsOf(sections(60, `${'漢字'.repeat(10_000)} "\\`), 32_000)
  expect(calls.length).toBeGreaterThan(10)
  for (const call of calls) expect(() => snapshotParams({ content: call.content })).not.toThrow()
})

test('are none for an empty document', () => {
  expect(callsOf('', 800).calls).toEqual([])
})
