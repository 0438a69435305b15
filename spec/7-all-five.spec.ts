import { describe, test } from 'vitest'

describe('All five', () => {
  test.todo('builtin tools, registered without configuration wherever a model is configured')
  test.todo('each works with any model')
  test.todo('replies in code fences are read')
  test.todo('an empty or malformed reply gives the fallback named below, never an exception')
})
