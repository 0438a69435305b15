import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findLocalModel } from './local/local-model.ts'
import { openEmbedder } from './open-embedder.ts'

const providers = [
  { name: 'claude', type: 'anthropic', api_key: 'k' },
  { name: 'openai', type: 'openai', api_key: 'k' },
]

describe('opening an embedding model', () => {
  test('a known one of a configured provider is not asked anything', async () => {
    const embedder = await openEmbedder('openai:text-embedding-3-large', { providers })
    expect([embedder.id, embedder.dimensions, embedder.batch]).toEqual(['openai:text-embedding-3-large', 3072, 100])
    expect(embedder.maxCharacters).toBeUndefined()
  })

  test.each([
    ['text-embedding-3-small', "'text-embedding-3-small' is no embedding model: it is written provider:model"],
    ['ollama:m', "There is no provider 'ollama' for ollama:m (there are: claude, openai, local)."],
    [
      'claude:m',
      'The provider claude (anthropic) has no embedding models. Take one of type openai, gemini, ollama, or local:',
    ],
    ['local:gte', "There is no local embedding model 'gte': there is local:minilm-l6-v2."],
  ])('of %s it says what is wrong', async (id, message) => {
    await expect(openEmbedder(id, { providers })).rejects.toThrow(message)
  })

  test('a provider that is called local is the one that is meant by it', async () => {
    const mine = [{ name: 'local', type: 'openai', api_key: 'k' }]
    expect((await openEmbedder('local:text-embedding-3-small', { providers: mine })).dimensions).toBe(1536)
  })

  test('where the local model is not, nothing is found', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'toolyard-embeddings-'))
    onTestFinished(() => rm(empty, { recursive: true }))
    expect(findLocalModel(empty, [join(empty, 'x.js')])).toBeUndefined()
  })
})
