import type { SqliteDatabase } from './sqlite-database.ts'

/** How much more a word in a heading counts than one in the text. */
const WEIGHTS = ', 3.0, 1.0) AS score'

/** The table of a collection's words. Its name contains a number only, so it is safe in a statement. */
const nameOf = (collection: number): string => `knowledge_words_${Math.trunc(collection)}`

/**
 * `searchWords` has split the words, so only stemming is left. The table stores no text: it is in the chunks.
 */
export function createWords(database: SqliteDatabase, collection: number): void {
  const options = `(heading, text, content='', contentless_delete=1, tokenize="porter unicode61 categories 'L* N* Co M*'")`
  database.exec(['CREATE VIRTUAL TABLE IF NOT EXISTS', nameOf(collection), 'USING fts5', options].join(' '))
}

export function dropWords(database: SqliteDatabase, collection: number): void {
  database.exec(['DROP TABLE IF EXISTS', nameOf(collection)].join(' '))
}

/** Values: the id of a chunk, the words of its heading, and those of its text. */
export const insertWords = (collection: number): string =>
  ['INSERT INTO', nameOf(collection), '(rowid, heading, text) VALUES (?, ?, ?)'].join(' ')

/** Value: the id of a chunk. */
export const deleteWords = (collection: number): string =>
  ['DELETE FROM', nameOf(collection), 'WHERE rowid = ?'].join(' ')

/**
 * Values: the query, the values of `among`, and the limit. The lowest score is the best. The plus keeps SQLite from
 * looking up every chunk that `among` allows.
 */
export function findWords(collection: number, among: string | undefined): string {
  const name = nameOf(collection)
  const filter = among === undefined ? '' : ['AND +rowid IN (', among, ')'].join('')
  const select = ['SELECT rowid AS chunk, bm25(', name, WEIGHTS, ' FROM ', name].join('')
  return [select, 'WHERE', name, 'MATCH ?', filter, 'ORDER BY score, rowid LIMIT ?'].join(' ')
}

/** A query in FTS5 syntax for any of the words. */
export const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(' OR ')
