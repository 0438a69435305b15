import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Corpus } from './corpus.ts'

const SETS = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '../../../shared/data')
const FOLDER = join(SETS, 'retrieval')

interface BankDocument {
  readonly id: string
  readonly title: string
  readonly content: string
}

interface BankQuery {
  readonly id: string
  readonly query: string
  readonly relevant: readonly string[]
}

/** The knowledge base of a bank, with tasks of its customers; undefined, with a line that says so, where it is not there. */
export function bank(): Corpus | undefined {
  if (!existsSync(join(FOLDER, 'documents.jsonl'))) {
    console.warn(`skipped: no documents at ${FOLDER} (TOOLYARD_DATA_SETS names the folder that holds retrieval/,`)
    console.warn('which is the knowledge base of the banking domain in github.com/sierra-research/tau2-bench)')
    return undefined
  }
  return {
    id: 'bank',
    documents: lines<BankDocument>('documents.jsonl').map(({ id, title, content }) => ({
      id,
      text: `# ${title}\n\n${content}`,
    })),
    questions: lines<BankQuery>('queries.jsonl').map(({ id, query, relevant }) => ({
      id,
      text: query,
      relevant: new Set(relevant),
    })),
  }
}

const lines = <Line>(file: string): Line[] =>
  readFileSync(join(FOLDER, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
