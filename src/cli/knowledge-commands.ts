import { type Command, Option } from 'commander'
import { collect } from './read-pairs.ts'
import type { Terminal } from './terminal.ts'

const INGEST_HELP = `
Files, folders with all that is below them, and patterns in quotes. Hidden files and folders, node_modules and links are
left out where they are not named. What has not changed since the last time is not taken in again, so a run that was
stopped goes on where it stopped.

Examples:
  $ toolyard ingest docs README.md
  $ toolyard ingest 'src/**/*.ts' --collection code
  $ toolyard ingest manual.pdf --collection products --metadata product=kettle --metadata lang=en`

const SEARCH_HELP = `
Without a collection of yours it is Toolyard's own documentation that is searched.

Examples:
  $ toolyard search "how long may a call take"
  $ toolyard search "descaling" --collection products --filter product=kettle --limit 3`

/** `toolyard ingest` and `toolyard search`. */
export function addKnowledgeCommands(program: Command, terminal: Terminal, done: (code: number) => void): void {
  program
    .command('ingest')
    .description('put documents into a collection, where search finds them')
    .argument('<paths...>', 'files, folders and patterns')
    .option('--collection <name>', 'where to put them', 'docs')
    .option('--metadata <key=value>', 'kept with each document, and comes with every result; may be repeated', collect)
    .option('--chunk-size <characters>', 'how long a piece is at most: else what fits the embedding model')
    .addHelpText('after', INGEST_HELP)
    .action(async (paths: string[], _, command: Command) => {
      const { ingest } = await import('./commands/ingest.ts')
      done(await ingest(terminal, paths, command.optsWithGlobals()))
    })

  program
    .command('search')
    .description('find the passages of a collection that answer a question')
    .argument('<question>', 'what to look for, in your words')
    .option('--collection <name>', 'where to look', 'docs')
    .option('--limit <n>', 'at most so many, 1 to 100; else 5')
    .addOption(new Option('--by <way>', 'how').choices(['hybrid', 'text', 'vector']).default('hybrid'))
    .option('--filter <key=value>', 'only documents with this metadata; may be repeated', collect)
    .addHelpText('after', SEARCH_HELP)
    .action(async (question: string, _, command: Command) => {
      const { search } = await import('./commands/search.ts')
      done(await search(terminal, question, command.optsWithGlobals()))
    })
}
