import { describe, expect, test } from 'vitest'
import { ModelError } from '../../models/model-error.ts'
import { unitVectors } from './embedder.ts'

describe('unitVectors', () => {
  test('scales vectors to length 1', () => {
    const [small, large] = unitVectors(
      [
        [3, 4],
        [3e30, -4e30],
      ],
      { count: 2, dimensions: 2 },
    )
    expect([...(small as Float32Array)]).toEqual([Math.fround(0.6), Math.fround(0.8)])
    expect([...(large as Float32Array)]).toEqual([Math.fround(0.6), Math.fround(-0.8)])
  })

  test('takes unknown dimensions from the first vector', () => {
    expect(
      unitVectors(
        [
          [1, 0, 0],
          [0, 1, 0],
        ],
        { count: 2, dimensions: undefined },
      ).map(({ length }) => length),
    ).toEqual([3, 3])
    expect(() =>
      unitVectors(
        [
          [1, 0, 0],
          [0, 1],
        ],
        { count: 2, dimensions: undefined },
      ),
    ).toThrow('Vector 2 has 2 dimensions, not 3. Vectors of different models cannot be mixed.')
  })

  test.each([
    ['nothing', undefined, 'The response is not a list of vectors. Check that it is an embedding model.'],
    ['too few', [[1, 0]], 'Received 1 vectors for 2 texts.'],
    [
      'too many',
      [
        [1, 0],
        [1, 0],
        [1, 0],
      ],
      'Received 3 vectors for 2 texts.',
    ],
    [
      'another size',
      [
        [1, 0],
        [1, 0, 0],
      ],
      'Vector 2 has 3 dimensions, not 2.',
    ],
    ['an empty one', [[1, 0], []], 'Vector 2 is empty.'],
    ['something else', [[1, 0], 'AAAA'], 'Vector 2 is empty.'],
    [
      'NaN',
      [
        [1, 0],
        [Number.NaN, 1],
      ],
      'Vector 2 contains NaN, which is not a number.',
    ],
    [
      'a hole',
      [
        [1, null],
        [1, 0],
      ],
      'Vector 1 contains null, which is not a number.',
    ],
    [
      'infinity',
      [
        [1, 0],
        [Number.POSITIVE_INFINITY, 1],
      ],
      'Vector 2 contains Infinity, which is not a number.',
    ],
    [
      'zeros',
      [
        [1, 0],
        [0, 0],
      ],
      'Vector 2 has no direction: its length is 0.',
    ],
    [
      'too great',
      [
        [1, 0],
        [1e300, 1e300],
      ],
      'Vector 2 has no direction: its length is Infinity.',
    ],
  ])('rejects %s', (_name, given, message) => {
    const read = (): unknown => unitVectors(given, { count: 2, dimensions: 2 })
    expect(read).toThrow(ModelError)
    expect(read).toThrow(message)
  })
})
