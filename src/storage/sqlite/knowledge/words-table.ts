import type { SqliteDatabase } from '../sqlite-database.ts'

/** How much more a word in a heading counts than one in the text. */
const WEIGHTS = ', 3.0, 1.0) AS score'

/** The table of one collection's words: its name is made of a number, and of nothing else. */
const nameOf = (collection: number): string => `knowledge_words_${Math.trunc(collection)}`

/**
 * Words come as `searchWords` gives them, so that only their endings are left to be taken off. No text is kept: it stands
 * in the chunks.
 */
export function createWords(database: SqliteDatabase, collection: number): void {
  const options = `(heading, text, content='', contentless_delete=1, tokenize="porter unicode61 categories 'L* N* Co M*'")`
  database.exec(['CREATE VIRTUAL TABLE', nameOf(collection), 'USING fts5', options].join(' '))
}

export function dropWords(database: SqliteDatabase, collection: number): void {
  database.exec(['DROP TABLE IF EXISTS', nameOf(collection)].join(' '))
}

/** Takes the id of a chunk, the words of its heading, and those of its text. */
export const insertWords = (collection: number): string =>
  ['INSERT INTO', nameOf(collection), '(rowid, heading, text) VALUES (?, ?, ?)'].join(' ')

/** Takes the id of a chunk. */
export const deleteWords = (collection: number): string =>
  ['DELETE FROM', nameOf(collection), 'WHERE rowid = ?'].join(' ')

/**
 * Takes what is looked for, the values of `among`, and how many are wanted; the least score is the best. The plus keeps
 * SQLite from looking for every single chunk that `among` allows.
 */
export function findWords(collection: number, among: string | undefined): string {
  const name = nameOf(collection)
  const filter = among === undefined ? '' : ['AND +rowid IN (', among, ')'].join('')
  const select = ['SELECT rowid AS chunk, bm25(', name, WEIGHTS, ' FROM ', name].join('')
  return [select, 'WHERE', name, 'MATCH ?', filter, 'ORDER BY score, rowid LIMIT ?'].join(' ')
}

/** A question in the language of FTS5: any of the words, none of which is syntax. */
export const anyOf = (words: readonly string[]): string => words.map((word) => `"${word}"`).join(' OR ')
