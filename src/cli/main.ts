import { Command, CommanderError } from 'commander'
import { packageVersion } from '../app/package-version.ts'
import type { OperationGroup } from '../operations/operation.ts'
import {
  createTerminal,
  type Done,
  type Io,
  printable,
  processIo,
  type Terminal,
  UsageError,
} from './common/terminal.ts'

const SEE_HELP = 'See "toolyard --help".'

/** Runs the command line with the arguments after `toolyard`; returns the exit code. */
export async function main(words: readonly string[], io: Io = processIo()): Promise<number> {
  const terminal = createTerminal(asksForJson(words), io)
  let code = 0
  const program = await createProgram(terminal, words, (ended) => {
    code = ended
  })
  if (words[0] === 'completion' && words[1] === '--words') {
    const { printCompletions } = await import('./commands/completion.ts')
    await printCompletions(terminal, program, words.slice(2))
    return 0
  }
  const output = capture(program)
  try {
    await program.parseAsync(words, { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(terminal, error)
    return afterParsing(terminal, error, output(), program, words)
  }
}

/** Captures the output of commander, so that `main` writes it in one place. */
function capture(program: Command): () => string {
  let text = ''
  const keep = (more: string) => {
    text += more
  }
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput({ writeOut: keep, writeErr: keep, outputError: () => {} })
  }
  return () => text.trimEnd()
}

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

function afterParsing(
  terminal: Terminal,
  error: CommanderError,
  output: string,
  program: Command,
  words: readonly string[],
): number {
  if (error.exitCode === 0) {
    const key = error.code === 'commander.version' ? 'version' : 'help'
    if (terminal.json) terminal.document({ [key]: output })
    else terminal.result(output)
    return 0
  }
  if (error.code === 'commander.help') {
    const [asked, about] = words.filter((word) => !word.startsWith('-'))
    if (asked === 'help') return fail(terminal, new UsageError(`Unknown command '${about}'. ${SEE_HELP}`))
    if (terminal.json) return fail(terminal, new UsageError(`No command given. ${SEE_HELP}`))
    terminal.note(output)
    return 2
  }
  const command = commandIn(program, words)
  const help = command === '' ? SEE_HELP : `See "toolyard ${command} --help".`
  return fail(terminal, new UsageError(`${sentence(error.message)} ${help}`))
}

/** The command that the words name, such as `keys revoke`; empty if they name none. */
function commandIn(program: Command, words: readonly string[]): string {
  const names = program.commands.map((one) => one.name())
  const at = words.findIndex((word) => names.includes(word))
  const command = program.commands.find((one) => one.name() === words[at])
  const below = command?.commands.find((one) => one.name() === words[at + 1])
  return [command, below].flatMap((one) => one?.name() ?? []).join(' ')
}

/** Turns commander's `error: unknown command 'tols'\n(Did you mean tools?)` into sentences. */
function sentence(message: string): string {
  const [problem = '', hint = ''] = message.replace(/^error: /, '').split('\n')
  const stopped = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`.replace(/\.\.$/, '.')
  return [stopped, hint.replace(/^\((.*)\)$/, '$1')].filter((part) => part !== '').join(' ')
}

function fail(terminal: Terminal, error: unknown): number {
  const message = error instanceof Error ? error.message : String(error)
  if (terminal.json) terminal.document({ success: false, error: message })
  else terminal.note(terminal.styleNote('red', printable(message)))
  return error instanceof UsageError ? 2 : 1
}

/** Words after `--` are parameters. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).includes('--json')
}

const EXAMPLES = `
Examples:
  $ toolyard demo                                        see what Toolyard does
  $ toolyard serve                                       serve the tools over HTTP
  $ toolyard tools                                       list the tools
  $ toolyard exec get_weather location=Paris             run a tool
  $ toolyard exec calculate '{"expression":"2+2"}'       run a tool with JSON parameters
  $ toolyard search "how long may a call take"           search the documents
  $ echo '{"text":"hi"}' | toolyard exec echo - --json   read parameters from stdin, print the JSON envelope

Results go to stdout, everything else to stderr.
Exit code 0: success. 1: the call failed. 2: wrong usage or configuration. 130: interrupted.`

type Define = (command: Command, terminal: Terminal, done: Done) => void

/** The commands of the operations of a feature. */
async function operationsOf(loading: Promise<OperationGroup>): Promise<Define> {
  const [{ operations, help }, { defineOperations }] = await Promise.all([
    loading,
    import('./common/operation-command.ts'),
  ])
  return (group, terminal, done) => {
    if (help !== undefined) group.addHelpText('after', help)
    defineOperations(group, terminal, done, operations)
  }
}

/** The order of the help is that of their use. */
async function defineKeys(): Promise<Define> {
  const [{ keys }, { users }, { defineSigning }] = await Promise.all([
    import('../operations/keys.ts'),
    import('../operations/users.ts'),
    import('./commands/signing.ts'),
  ])
  const { create, change, list, rotate, restore } = keys.operations
  const operations = { create, change, list, rotate, revoke: users.operations.revoke, restore }
  const define = await operationsOf(Promise.resolve({ operations, help: keys.help }))
  return (...group) => {
    define(...group)
    defineSigning(...group)
  }
}

/** The commands. Each loads its options, its arguments and its code when it is named. */
const COMMANDS: Readonly<Record<string, readonly [description: string, load: () => Promise<Define>]>> = {
  init: ['Create a configuration, with a test', async () => (await import('./commands/init.ts')).defineInit],
  serve: ['Serve the tools over HTTP', async () => (await import('./commands/serve.ts')).defineServe],
  exec: ['Run a tool and print its result', async () => (await import('./commands/tools.ts')).defineExec],
  tools: [
    'List the tools: name, kind, effect and description',
    async () => (await import('./commands/tools.ts')).defineTools,
  ],
  check: ['Check the whole configuration', async () => (await import('./commands/check.ts')).defineCheck],
  chat: ['Ask a model that can use the tools', async () => (await import('./commands/chat.ts')).defineChat],
  validate: [
    'Measure which models can use which tools',
    async () => (await import('./commands/validate/validate.ts')).defineValidate,
  ],
  models: ['List, add and download models', async () => (await import('./commands/models.ts')).defineModels],
  mcp: [
    'Inspect MCP servers, call their tools, or serve over MCP',
    async () => (await import('./commands/mcp/mcp.ts')).defineMcp,
  ],
  import: [
    'Create tools from an API description',
    async () => (await import('./commands/import/import.ts')).defineImport,
  ],
  pack: ['Sign a folder of tools as a package', async () => (await import('./commands/packages.ts')).definePack],
  add: ['Add a package of tools', async () => (await import('./commands/packages.ts')).defineAdd],
  remove: ['Remove a package of tools', async () => (await import('./commands/packages.ts')).defineRemove],
  outdated: [
    'List packages that have a newer version',
    async () => (await import('./commands/packages.ts')).defineOutdated,
  ],
  packages: [
    'List the packages of tools, and the catalogue',
    async () => (await import('./commands/packages.ts')).definePackages,
  ],
  ingest: [
    'Add documents to a searchable collection',
    async () => (await import('./commands/ingest/ingest.ts')).defineIngest,
  ],
  search: ['Search a collection of documents', async () => (await import('./commands/ingest/ingest.ts')).defineSearch],
  keys: ['Create, list and revoke API keys', defineKeys],
  tenants: [
    'List tenants and change what each may use',
    () => operationsOf(import('../operations/tenants.ts').then(({ tenants }) => tenants)),
  ],
  approvals: [
    'List, approve and reject calls that wait for approval',
    () => operationsOf(import('../operations/approvals.ts').then(({ approvals }) => approvals)),
  ],
  connections: [
    'List and revoke the accounts that users have connected',
    () => operationsOf(import('../operations/connections.ts').then(({ connections }) => connections)),
  ],
  secrets: [
    'List, set and remove secrets that the configuration uses',
    () => operationsOf(import('../operations/secrets.ts').then(({ secrets }) => secrets)),
  ],
  rollout: [
    'Give some of the callers another version of a tool',
    () => operationsOf(import('../operations/versions.ts').then(({ rollouts }) => rollouts)),
  ],
  versions: [
    'Compare the versions of a tool',
    () => operationsOf(import('../operations/versions.ts').then(({ versions }) => versions)),
  ],
  diff: [
    'Show what changed for callers between two versions',
    async () => (await import('./commands/diff.ts')).defineDiff,
  ],
  costs: [
    'Show what tools and models cost',
    () => operationsOf(import('../operations/costs.ts').then(({ costs }) => costs)),
  ],
  audit: ['List, export and verify the audit log', async () => (await import('./commands/records.ts')).defineAudit],
  report: [
    'Report who used what, and verify the audit log',
    async () => (await import('./commands/report.ts')).defineReport,
  ],
  objectives: [
    'Show objectives, their error budget and alerts',
    () => operationsOf(import('../operations/objectives.ts').then(({ objectives }) => objectives)),
  ],
  runs: ['List, show, save and replay runs', async () => (await import('./commands/records.ts')).defineRuns],
  validations: [
    'List, export and import validation results',
    async () => (await import('./commands/models.ts')).defineValidations,
  ],
  storage: [
    'Copy a store, or encrypt it with a new key',
    async () => (await import('./commands/storage.ts')).defineStorage,
  ],
  backup: ['Back up the SQLite store', async () => (await import('./commands/storage.ts')).defineBackup],
  restore: ['Restore a backup', async () => (await import('./commands/storage.ts')).defineRestore],
  demo: ['Show what Toolyard does in six calls', async () => (await import('./commands/tools.ts')).defineDemo],
  completion: [
    'Print a shell completion script',
    async () => (await import('./commands/completion.ts')).defineCompletion,
  ],
}

/** Creates the program. It loads only the commands that the words name, because loading takes most of the start-up time. */
export async function createProgram(terminal: Terminal, words: readonly string[], done: Done): Promise<Command> {
  const program = new Command('toolyard')
    .description('Runs tools for AI models: validates, times out, records and measures every call.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .option('--json', 'print exactly one JSON document to stdout')
    .option('--config <file>', 'configuration (default: TOOLYARD_CONFIG, ./toolyard.config.json, the shipped one)')
    .option('--verbose', 'log to stderr')
    .helpOption('-h, --help', 'show help; also after a command')
    .helpCommand('help [command]', 'Show help for a command')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EXAMPLES)
  for (const [name, [description, load]] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(description)
    if (words.includes(name)) (await load())(command, terminal, done)
  }
  return program
}
