import { describe, expect, it } from 'vitest'
import { vectorCode } from './vector-code.ts'

/** Numbers that look random and are the same every time. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2_147_483_648
  }
}

function vectorOf(next: () => number, dimensions: number): Float32Array {
  const numbers = Array.from({ length: dimensions }, () => next() + next() + next())
  const length = Math.hypot(...numbers)
  return Float32Array.from(numbers, (number) => number / length)
}

const bitsOf = (code: Uint8Array): string => Array.from(code, (byte) => byte.toString(2).padStart(8, '0')).join('')

function differenceOf(one: Uint8Array, other: Uint8Array): number {
  return bitsOf(one.map((byte, index) => byte ^ (other[index] as number))).replaceAll('0', '').length
}

describe('the code of a vector', () => {
  it('has three bits a number, in whole bytes', () => {
    expect([1, 2, 3, 8, 384, 1_001].map((length) => vectorCode(new Float32Array(length)).length)).toEqual([
      1, 1, 2, 3, 144, 376,
    ])
  })

  it('differs by one bit for each cut that lies between two numbers', () => {
    const codeOf = (number: number) => vectorCode(Float32Array.of(number, 0, 0, 0))
    const numbers = [-0.9, -0.1, 0.1, 0.9]
    const differences = numbers.map((number) => differenceOf(codeOf(number), codeOf(-0.9)))
    expect(differences).toEqual([0, 1, 2, 3])
  })

  it('is near if the vector is near: of the ten nearest of 2,000 nine are among the 200 nearest codes', () => {
    const next = random(3)
    const vectors = Array.from({ length: 2_000 }, () => vectorOf(next, 128))
    const cosine = (one: Float32Array, other: Float32Array) =>
      one.reduce((sum, number, index) => sum + number * (other[index] as number), 0)
    let found = 0
    for (let round = 0; round < 5; round++) {
      const asked = vectorOf(next, 128)
      const code = vectorCode(asked)
      const exact = vectors.toSorted((a, b) => cosine(asked, b) - cosine(asked, a)).slice(0, 10)
      const byCode = vectors.map((vector) => ({ vector, bits: differenceOf(code, vectorCode(vector)) }))
      const near = new Set(
        byCode
          .toSorted((a, b) => a.bits - b.bits)
          .slice(0, 200)
          .map(({ vector }) => vector),
      )
      found += exact.filter((vector) => near.has(vector)).length
    }
    expect(found).toBeGreaterThanOrEqual(45)
  })
})
