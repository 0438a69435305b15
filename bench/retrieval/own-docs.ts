import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SearchResult } from '../../src/knowledge/collections/search.ts'
import type { Corpus, Question } from './corpus.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Section {
  readonly page: string
  readonly heading: string
}

interface OwnQuestion {
  readonly id: string
  readonly question: string
  readonly answers: readonly Section[]
}

/** These docs, and a hundred questions about them that were written before anything was measured. */
export function ownDocs(): Corpus {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    // The page that these figures are written into would change them.
    .filter((file) => file.endsWith('.md') && file !== join('internals', 'retrieval.md'))
    .map((file) => `docs/${file}`)
  return {
    id: 'own docs',
    documents: ['README.md', ...pages.sort()].map((page) => ({
      id: page,
      text: readFileSync(join(ROOT, page), 'utf8'),
    })),
    questions: readFileSync(join(import.meta.dirname, 'own-questions.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => questionOf(JSON.parse(line) as OwnQuestion)),
  }
}

const questionOf = ({ id, question, answers }: OwnQuestion): Question => ({
  id,
  text: question,
  relevant: new Set(answers.map(({ page }) => page)),
  isAnswer: (result) => answers.some((section) => isOf(result, section)),
})

/** A passage is of a section where it stands under its heading, or holds it, as those do that hold several short ones. */
function isOf({ source, text, metadata }: SearchResult, { page, heading }: Section): boolean {
  if (source !== page) return false
  if (metadata.heading?.split(' › ').at(-1) === heading) return true
  return text.split('\n').some((line) => line.replace(/^#+ /, '') === heading && line.startsWith('#'))
}
