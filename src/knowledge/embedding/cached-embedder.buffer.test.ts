import { expect, test } from 'vitest'
import { inOneBuffer } from './cached-embedder.ts'

test('vectors are the same, over one buffer that goes to another thread once', () => {
  const vectors = [Float32Array.of(1, 2), Float32Array.of(3), Float32Array.of(4, 5, 6)]
  const together = inOneBuffer(vectors)
  expect(together).toEqual(vectors)
  const sent = structuredClone(together)
  expect(sent).toEqual(vectors)
  expect(new Set(sent.map(({ buffer }) => buffer)).size).toBe(1)
  expect(sent[0]?.buffer.byteLength).toBe(24)
})

test('no vectors are none', () => {
  expect(inOneBuffer([])).toEqual([])
})
