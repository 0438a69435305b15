import type { DocumentPart, KnowledgeChunk, KnowledgeHit, KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { Storage } from '../../core/storage/storage.ts'
import type { Clauses, OpenOptions } from '../storage/contract-store.ts'

/** The part of a store that keeps knowledge. */
export type KnowledgeUnderTest = Pick<Storage, 'knowledge' | 'close'>

export type OpenKnowledge = (options: OpenOptions) => Promise<KnowledgeUnderTest>

export type KnowledgeClauses = Clauses<KnowledgeUnderTest>

export const EMBEDDER = { id: 'test:four', dimensions: 4 }

/** A vector of length 1 in the direction of the numbers. */
export function unit(...numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers)
  return Float32Array.from(numbers, (number) => number / length)
}

export const chunk = (position: number, text: string, more: Partial<KnowledgeChunk> = {}): KnowledgeChunk => ({
  position,
  text,
  start: position * 100,
  end: position * 100 + text.length,
  heading: '',
  ...more,
})

/** A document of the tenant `acme` in the collection `docs`, whole, with a chunk for each text. */
export function whole(document_id: string, texts: readonly string[], more: Partial<DocumentPart> = {}): DocumentPart {
  return {
    tenant: 'acme',
    collection: 'docs',
    document_id,
    version: '1',
    part: 0,
    parts: 1,
    source: `${document_id}.md`,
    metadata: {},
    chunks: texts.map((text, index) => chunk(index, text)),
    ...more,
  }
}

/** Part `part` of three of a version: two chunks, which say what they are. */
export const third = (document_id: string, version: string, part: number): DocumentPart =>
  whole(document_id, [], {
    version,
    part,
    parts: 3,
    chunks: [2 * part, 2 * part + 1].map((position) => chunk(position, `stone ${document_id} version${version}`)),
  })

/** What the chunks that a search for the word finds say, in the order of their places in the document. */
export async function textsOf(knowledge: KnowledgeStore, text: string, collection = 'docs'): Promise<string[]> {
  const hits = await knowledge.byText({ tenant: 'acme', collection, most: 1_000, text })
  return hits.toSorted((a, b) => a.position - b.position).map((hit) => hit.text)
}

export const documentsOf = (hits: readonly KnowledgeHit[]): string[] => hits.map(({ document_id }) => document_id)

/** The store with the collection `docs` in it, which has vectors where the store keeps them. */
export async function withDocs({ knowledge }: KnowledgeUnderTest): Promise<KnowledgeStore> {
  await knowledge.open('acme', 'docs', EMBEDDER)
  return knowledge
}
