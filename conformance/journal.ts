import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the servers of a case have done: one line each, in a file, so that it survives them. */
export interface JournalEntry {
  readonly event: 'start' | 'call' | 'write'
  readonly pid: number
  readonly tool?: string
}

const fileIn = (folder: string): string => join(folder, 'journal')

export function note(folder: string, entry: JournalEntry): void {
  appendFileSync(fileIn(folder), `${JSON.stringify(entry)}\n`)
}

export function readJournal(folder: string): JournalEntry[] {
  try {
    const lines = readFileSync(fileIn(folder), 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEntry)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** The processes of all servers that were started for a case. */
export const serverPids = (folder: string): number[] =>
  readJournal(folder)
    .filter(({ event }) => event === 'start')
    .map(({ pid }) => pid)
