import { describe, expect, test } from 'vitest'
import { forPurpose, knownDimensions } from './open-embedder.ts'

describe('known models', () => {
  test('have dimensions, with any publisher and tag', () => {
    expect(knownDimensions('text-embedding-3-small')).toBe(1536)
    expect(knownDimensions('nomic-embed-text:latest')).toBe(768)
    expect(knownDimensions('nomic-ai/Nomic-Embed-Text:v1.5')).toBe(768)
  })

  test('do not include other names or object properties', () => {
    for (const name of ['my-model', 'snowflake-arctic-embed', 'constructor', '']) {
      expect(knownDimensions(name)).toBeUndefined()
    }
    expect(forPurpose('constructor', 'a', 'query')).toBe('a')
  })

  test('have prefixes for documents and queries', () => {
    expect(forPurpose('nomic-embed-text', 'a', 'document')).toBe('search_document: a')
    expect(forPurpose('nomic-embed-text', 'a', 'query')).toBe('search_query: a')
    expect(forPurpose('mxbai-embed-large', 'a', 'document')).toBe('a')
    expect(forPurpose('mxbai-embed-large', 'a', 'query')).toMatch(/: a$/)
    expect(forPurpose('text-embedding-3-small', 'a', 'query')).toBe('a')
  })
})
