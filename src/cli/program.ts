import { Command } from 'commander'
import { packageVersion } from './package-version.ts'
import type { Done, Terminal } from './terminal.ts'

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

interface Entry {
  readonly name: string
  readonly description: string
  /** Loads the options and arguments of the command, with the code that runs it. */
  readonly load: () => Promise<Define>
}

const COMMANDS: readonly Entry[] = [
  {
    name: 'serve',
    description: 'Serve the tools over HTTP',
    load: async () => (await import('./commands/serve.ts')).defineServe,
  },
  {
    name: 'exec',
    description: 'Run a tool and print its result',
    load: async () => (await import('./commands/exec.ts')).defineExec,
  },
  {
    name: 'tools',
    description: 'List the tools: name, kind, effect and description',
    load: async () => (await import('./commands/tools.ts')).defineTools,
  },
  {
    name: 'chat',
    description: 'Ask a model that can use the tools',
    load: async () => (await import('./commands/chat.ts')).defineChat,
  },
  {
    name: 'validate',
    description: 'Measure which models can use which tools',
    load: async () => (await import('./commands/validate.ts')).defineValidate,
  },
  {
    name: 'models',
    description: 'List, add and download models',
    load: async () => (await import('./commands/models.ts')).defineModels,
  },
  {
    name: 'mcp',
    description: 'Inspect MCP servers, call their tools, or serve over MCP',
    load: async () => (await import('./commands/mcp.ts')).defineMcp,
  },
  {
    name: 'import',
    description: 'Create tools from an API description',
    load: async () => (await import('./commands/import.ts')).defineImport,
  },
  {
    name: 'ingest',
    description: 'Add documents to a searchable collection',
    load: async () => (await import('./commands/ingest.ts')).defineIngest,
  },
  {
    name: 'search',
    description: 'Search a collection of documents',
    load: async () => (await import('./commands/search.ts')).defineSearch,
  },
  {
    name: 'keys',
    description: 'Create, list and revoke API keys',
    load: async () => (await import('./commands/keys.ts')).defineKeys,
  },
  {
    name: 'tenants',
    description: 'List tenants and change what each may use',
    load: async () => (await import('./commands/tenants.ts')).defineTenants,
  },
  {
    name: 'audit',
    description: 'List, export and verify the audit log',
    load: async () => (await import('./commands/audit.ts')).defineAudit,
  },
  {
    name: 'runs',
    description: 'List, show, save and replay runs',
    load: async () => (await import('./commands/runs.ts')).defineRuns,
  },
  {
    name: 'validations',
    description: 'List, export and import validation results',
    load: async () => (await import('./commands/validations.ts')).defineValidations,
  },
  {
    name: 'demo',
    description: 'Show what Toolyard does in six calls',
    load: async () => (await import('./commands/demo.ts')).defineDemo,
  },
  {
    name: 'completion',
    description: 'Print a shell completion script',
    load: async () => (await import('./commands/completion.ts')).defineCompletion,
  },
]

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
  for (const { name, description, load } of COMMANDS) {
    const command = program.command(name).description(description)
    if (words.includes(name)) (await load())(command, terminal, done)
  }
  return program
}
