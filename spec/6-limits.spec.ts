import { describe, test } from 'vitest'

describe('Limits', () => {
  test.todo('rate limits per caller and per tool')
  test.todo('sizes of bodies, arrays, results')
})
