import { describe, test } from 'vitest'

describe('Tools at work', () => {
  test.todo('composition, versions and migration, sharing, delegation, caching and memoisation, progress streamed')
})
