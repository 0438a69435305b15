import { type Command, Option } from 'commander'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import type { SearchAnswer, SearchResult, SearchWay } from '../../knowledge/collections/search.ts'
import { openManager, withoutServers } from '../common/open.ts'
import { collect, readInteger, readPairs } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  Interrupt,
  printable,
  printableLine,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const MAX_RESULTS = 100
const HELP = `
Without --collection it searches your collection "docs", or Toolyard's own documentation if you have none.

Examples:
  $ toolyard search "how long may a call take"
  $ toolyard search "descaling" --collection products --filter product=kettle --limit 3`

export function defineSearch(command: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  command
    .argument('<question>', 'the question, in your own words')
    .option('--collection <name>', 'the collection to search', 'docs')
    .option('--limit <n>', `maximum number of passages, 1 to ${MAX_RESULTS} (default 5)`)
    .addOption(new Option('--by <method>', 'search method').choices(['hybrid', 'text', 'vector']).default('hybrid'))
    .option('--filter <key=value>', 'only documents with this metadata; repeatable', collect)
    .addHelpText('after', HELP)
    .action(run(search))
}

export interface SearchOptions extends GlobalOptions {
  readonly collection: string
  readonly limit?: string
  readonly by: SearchWay
  readonly filter?: readonly string[]
}

/** `toolyard search`: the best passages of a collection for a question; 0 even if there are none. */
export async function search(terminal: Terminal, query: string, options: SearchOptions): Promise<number> {
  if (query.trim() === '') throw new UsageError('The question is empty.')
  const most = readInteger('--limit', options.limit ?? '5', 1, MAX_RESULTS)
  const filter = readPairs('--filter', options.filter ?? [])
  const { collection, by } = options
  const interrupt = new Interrupt()
  const opened = await openManager(terminal, options, { change: withoutServers })
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
  if (answer.results.length === 0) terminal.note('No results.')
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
