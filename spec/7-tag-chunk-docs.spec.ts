import { describe, test } from 'vitest'

describe('tag_chunk_docs (30 s)', () => {
  test.todo('{content, chunk_size?} gives {chunks: [{index, text, tags}]}, at most 5 model calls')
  test.todo('empty content: {chunks: []}')
  test.todo('fallback: no tags')
})
