import type { SearchResult } from '../../src/knowledge/collections/search.ts'

/** A document that can be found. */
export interface CorpusDocument {
  readonly id: string
  /** In Markdown. */
  readonly text: string
}

/** What is asked, and which documents answer it. */
export interface Question {
  readonly id: string
  readonly text: string
  readonly relevant: ReadonlySet<string>
  /** Whether a passage is the answer itself, where that is known. */
  readonly isAnswer?: (result: SearchResult) => boolean
}

/** Documents, and questions about them. */
export interface Corpus {
  readonly id: string
  readonly documents: readonly CorpusDocument[]
  readonly questions: readonly Question[]
}
