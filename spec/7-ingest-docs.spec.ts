import { describe, test } from 'vitest'

describe('ingest_docs (60 s, with progress)', () => {
  test.todo('chunk → embed → upsert, metadata kept on every chunk')
  test.todo('{content} gives {document_id, chunks: <count>}')
  test.todo('empty content: 0, nothing stored')
  test.todo('afterwards rag_query finds it')
  test.todo('A long document goes in as several calls with one document_id')
  test.todo('the new version becomes visible, and the old one goes, with the last part')
})
