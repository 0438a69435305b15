import { describe, expect, test } from 'vitest'
import { forPurpose, knownDimensions } from './open-embedder.ts'

describe('what is known of a model by its name', () => {
  test('its dimensions, whatever its publisher and its tag', () => {
    expect(knownDimensions('text-embedding-3-small')).toBe(1536)
    expect(knownDimensions('nomic-embed-text:latest')).toBe(768)
    expect(knownDimensions('nomic-ai/Nomic-Embed-Text:v1.5')).toBe(768)
  })

  test('nothing of others, nor of the names that objects have', () => {
    for (const name of ['my-model', 'snowflake-arctic-embed', 'constructor', '']) {
      expect(knownDimensions(name)).toBeUndefined()
    }
    expect(forPurpose('constructor', 'a', 'query')).toBe('a')
  })

  test('what it was trained to see before a document and before a question', () => {
    expect(forPurpose('nomic-embed-text', 'a', 'document')).toBe('search_document: a')
    expect(forPurpose('nomic-embed-text', 'a', 'query')).toBe('search_query: a')
    expect(forPurpose('mxbai-embed-large', 'a', 'document')).toBe('a')
    expect(forPurpose('mxbai-embed-large', 'a', 'query')).toMatch(/: a$/)
    expect(forPurpose('text-embedding-3-small', 'a', 'query')).toBe('a')
  })
})
