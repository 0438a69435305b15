import { LOCAL_TENANT } from '../../core/call.ts'
import type { SearchAnswer, SearchResult, SearchWay } from '../../knowledge/collections/search.ts'
import type { GlobalOptions } from '../global-options.ts'
import { Interrupt } from '../interrupt.ts'
import { openManager, withoutServers } from '../open-manager.ts'
import { printable, printableLine } from '../printable.ts'
import { readPairs } from '../read-pairs.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface SearchOptions extends GlobalOptions {
  readonly collection: string
  readonly limit?: string
  readonly by: SearchWay
  readonly filter?: readonly string[]
}

const USUAL_LIMIT = '5'
const MOST = 100

/** `toolyard search`: the passages of a collection that answer a question best; 0 also where there are none. */
export async function search(terminal: Terminal, query: string, options: SearchOptions): Promise<number> {
  if (query.trim() === '') throw new UsageError('The question is empty: say what to look for.')
  const most = readLimit(options.limit ?? USUAL_LIMIT)
  const filter = readPairs('--filter', options.filter ?? [])
  const { collection, by } = options
  const interrupt = new Interrupt()
  const opened = await openManager(options, withoutServers)
  try {
    const answer = await opened.manager
      .getCollections()
      .search(
        { tenant: LOCAL_TENANT, collection, query, most, by, ...(options.filter && { filter }) },
        { signal: interrupt.signal },
      )
    show(terminal, collection, answer)
    return interrupt.exitCode ?? 0
  } catch (error) {
    if (interrupt.exitCode === undefined) throw error
    return interrupt.exitCode
  } finally {
    interrupt.stop()
    await opened.close()
  }
}

function show(terminal: Terminal, collection: string, answer: SearchAnswer): void {
  if (terminal.json) {
    terminal.document({ collection, ...answer })
    return
  }
  for (const [index, result] of answer.results.entries()) showResult(terminal, index, result)
  if (answer.results.length === 0) terminal.note('Nothing was found.')
  if (answer.note !== undefined) terminal.note(printableLine(answer.note))
}

function showResult(terminal: Terminal, index: number, { text, score, source, metadata }: SearchResult): void {
  const heading = metadata.heading === undefined ? '' : `  ${printableLine(metadata.heading)}`
  const place = terminal.style('bold', `${index + 1}. ${printableLine(source)}`)
  terminal.result(`${index === 0 ? '' : '\n'}${place}${heading}  ${terminal.style('dim', score.toFixed(3))}`)
  terminal.result(
    printable(text)
      .trimEnd()
      .split('\n')
      .map((line) => `   ${line}`.trimEnd())
      .join('\n'),
  )
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (/^\d{1,3}$/.test(text) && limit >= 1 && limit <= MOST) return limit
  throw new UsageError(`--limit takes a number from 1 to ${MOST}, not '${printableLine(text)}'.`)
}
