import assert from 'node:assert/strict'
import type { KnowledgeStore } from '../../../src/core/storage/knowledge-store.ts'
import { chunk, EMBEDDER, textsOf, unit, whole, withDocs } from '../../../src/storage/fixtures/given-knowledge.ts'
import type { KnowledgeClauses } from '../storage/contract-store.ts'
import { refuses } from '../storage/contract-store.ts'

/** What a stranger asks for by the names of `acme`, and what he gets. */
type Attempt = (knowledge: KnowledgeStore, chunk_id: string) => Promise<unknown>

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  collections: async (knowledge) => assert.deepEqual(await knowledge.collections('other'), []),
  collection: async (knowledge) => assert.equal(await knowledge.collection('other', 'docs'), undefined),
  open: async (knowledge) => assert.equal((await knowledge.open('other', 'docs', EMBEDDER)).documents, 0),
  put: async (knowledge) => {
    await refuses(knowledge.put(whole('a', ['theirs'], { tenant: 'other', version: '2' })))
    await knowledge.open('other', 'docs', null)
    await knowledge.put(whole('a', ['theirs'], { tenant: 'other', version: '2' }))
  },
  document: async (knowledge) => assert.equal(await knowledge.document('other', 'docs', 'a'), undefined),
  remove: async (knowledge) => assert.equal(await knowledge.remove('other', 'docs', 'a'), false),
  drop: async (knowledge) => assert.equal(await knowledge.drop('other', 'docs'), false),
  byText: async (knowledge) => {
    const query = { tenant: 'other', collection: 'docs', most: 5, text: 'stone' }
    assert.deepEqual(await knowledge.byText(query), [])
    await knowledge.open('other', 'docs', EMBEDDER)
    assert.deepEqual(await knowledge.byText(query), [])
    assert.deepEqual(await knowledge.byText({ ...query, filter: { colour: 'grey' } }), [])
  },
  byVector: async (knowledge) => {
    const query = { tenant: 'other', collection: 'docs', most: 5, vector: unit(1, 0, 0, 0) }
    assert.deepEqual(await knowledge.byVector(query), [])
    await knowledge.open('other', 'docs', EMBEDDER)
    assert.deepEqual(await knowledge.byVector(query), [])
    assert.deepEqual(await knowledge.byVector({ ...query, filter: { colour: 'grey' } }), [])
  },
  withoutVector: async (knowledge) => {
    await knowledge.open('other', 'docs', EMBEDDER)
    assert.deepEqual(await knowledge.withoutVector('other', 'docs', 10), [])
  },
  setVectors: async (knowledge, chunk_id) => {
    const { embedder } = await knowledge.open('other', 'docs', EMBEDDER)
    const setting = knowledge.setVectors('other', 'docs', [{ chunk_id, vector: unit(1, 0, 0, 0) }])
    await (embedder === null ? refuses(setting) : setting)
  },
}

/** What `acme` has, all of it. */
async function stateOf(knowledge: KnowledgeStore): Promise<unknown> {
  return {
    collections: await knowledge.collections('acme'),
    document: await knowledge.document('acme', 'docs', 'a'),
    texts: await textsOf(knowledge, 'stone salt theirs'),
    near: await knowledge.byVector({ tenant: 'acme', collection: 'docs', most: 9, vector: unit(1, 0, 0, 0) }),
    waiting: await knowledge.withoutVector('acme', 'docs', 10),
  }
}

export const tenantClauses: KnowledgeClauses = Object.fromEntries(
  Object.entries(ATTEMPTS).map(([method, attempt]) => [
    `tenants: by ${method} nobody sees or changes what another has`,
    async (store) => {
      const knowledge = await withDocs(await store.open())
      const { embedder } = (await knowledge.collection('acme', 'docs')) ?? {}
      const known = embedder === null ? {} : { vector: unit(1, 0, 0, 0) }
      const chunks = [chunk(0, 'stone', known), chunk(1, 'salt')]
      await knowledge.put(whole('a', [], { chunks, metadata: { colour: 'grey' } }))
      const before = await stateOf(knowledge)
      const [waiting] = await knowledge.withoutVector('acme', 'docs', 10)
      await attempt(knowledge, waiting?.chunk_id ?? '1')
      assert.deepEqual(await stateOf(knowledge), before)
    },
  ]),
)
