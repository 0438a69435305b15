import { expect, test } from 'vitest'
import { contentVersion, documentId } from './split-document.ts'

test('the id depends on the source only', () => {
  expect(documentId('docs/a.md')).toBe(documentId('docs/a.md'))
  expect(documentId('docs/a.md')).not.toBe(documentId('docs/b.md'))
  expect(documentId('docs/a.md')).toMatch(/^[0-9a-f]{32}$/)
})

test('the version ignores the order of metadata and explicit defaults', () => {
  const version = contentVersion('text', { a: '1', b: '2' })
  expect(contentVersion('text', { b: '2', a: '1' })).toBe(version)
  expect(contentVersion('text', { b: '2', a: '1' }, { chunkSize: 800, overlap: 80 })).toBe(version)
  expect(version).toMatch(/^[0-9a-f]{32}$/)
})

test('text, metadata and split options change the version', () => {
  const versions = [
    contentVersion('text'),
    contentVersion('text '),
    contentVersion('text', { a: '1' }),
    contentVersion('text', { a: '2' }),
    contentVersion('text', { a: '1', b: '' }),
    contentVersion('text', {}, { chunkSize: 500 }),
    contentVersion('text', {}, { overlap: 0 }),
  ]
  expect(new Set(versions).size).toBe(versions.length)
})
