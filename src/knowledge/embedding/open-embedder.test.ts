import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findLocalModel } from './local-model.ts'
import { openEmbedder } from './open-embedder.ts'

const providers = [
  { name: 'claude', type: 'anthropic', api_key: 'k' },
  { name: 'openai', type: 'openai', api_key: 'k' },
]

describe('openEmbedder', () => {
  test('sends no request for a known model', async () => {
    const embedder = await openEmbedder('openai:text-embedding-3-large', { providers })
    expect([embedder.id, embedder.dimensions, embedder.batch]).toEqual(['openai:text-embedding-3-large', 3072, 100])
    expect(embedder.maxCharacters).toBeUndefined()
  })

  test.each([
    ['text-embedding-3-small', "'text-embedding-3-small' isn't an embedding model: write provider:model"],
    ['ollama:m', "Unknown provider 'ollama' in ollama:m: use one of claude, openai, local."],
    [
      'claude:m',
      'The provider claude (anthropic) has no embedding models. Use a provider of type openai, gemini, ollama, or local:',
    ],
    ['local:gte', "Unknown local embedding model 'gte': use local:minilm-l6-v2."],
  ])('rejects %s with the reason', async (id, message) => {
    await expect(openEmbedder(id, { providers })).rejects.toThrow(message)
  })

  test('prefers a configured provider named local', async () => {
    const mine = [{ name: 'local', type: 'openai', api_key: 'k' }]
    expect((await openEmbedder('local:text-embedding-3-small', { providers: mine })).dimensions).toBe(1536)
  })

  test('finds no local model that is not installed', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'toolyard-embeddings-'))
    onTestFinished(() => rm(empty, { recursive: true }))
    expect(findLocalModel(empty, [join(empty, 'x.js')])).toBeUndefined()
  })
})
