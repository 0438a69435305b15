import type { Command, Option } from 'commander'
import type { Config } from '../../config/config.ts'
import { mcpEntries } from '../../config/mcp-settings.ts'
import { rolesOf } from '../../config/roles.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { openManager, withoutServers } from '../common/open.ts'
import { choicesOf, parameterSchema } from '../common/params.ts'
import { type Done, printableLine, type Terminal, UsageError } from '../common/terminal.ts'

const HELP = `
Examples:
  $ source <(toolyard completion bash)     in ~/.bashrc
  $ source <(toolyard completion zsh)      in ~/.zshrc, after compinit
  $ toolyard completion fish > ~/.config/fish/completions/toolyard.fish`

export function defineCompletion(completion: Command, terminal: Terminal, done: Done): void {
  completion
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', HELP)
    .action((shell: string) => done(printScript(terminal, shell)))
}

/** `toolyard completion`: prints the completion script of a shell. */
function printScript(terminal: Terminal, shell: string): number {
  const script = COMPLETION_SCRIPTS.get(shell)
  if (script === undefined) {
    const known = [...COMPLETION_SCRIPTS.keys()].join(', ')
    throw new UsageError(`There is no completion for the shell '${printableLine(shell)}', only for ${known}.`)
  }
  if (terminal.json) terminal.document({ shell, script })
  else terminal.result(script)
  return 0
}

/**
 * Each script asks `toolyard completion --words` for the matching words, one per line. The shell never expands them (as
 * bash's `compgen -W` would): a configuration from elsewhere must not run anything.
 */
export const COMPLETION_SCRIPTS: ReadonlyMap<string, string> = new Map([
  [
    'bash',
    `# Completion for bash: put   source <(toolyard completion bash)   into ~/.bashrc
_toolyard() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(command toolyard completion --words "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ \${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
complete -o default -F _toolyard toolyard`,
  ],
  [
    'zsh',
    `#compdef toolyard
# Completion for zsh: put   source <(toolyard completion zsh)   into ~/.zshrc, after compinit
_toolyard() {
  local -a found
  found=("\${(@f)$(command toolyard completion --words "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} == 0 )); then
    _files
    return
  fi
  compadd -S '' -- "\${(@M)found:#*=}"
  compadd -- "\${(@)found:#*=}"
}
compdef _toolyard toolyard`,
  ],
  [
    'fish',
    `# Completion for fish: toolyard completion fish > ~/.config/fish/completions/toolyard.fish
function __toolyard_words
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    command toolyard completion --words $before[2..-1] "$current" 2>/dev/null
end
complete -c toolyard -f -a '(__toolyard_words)'
complete -c toolyard -l config -r -F`,
  ],
])

/** Prints the matching words, one per line, with the names in the configuration that the typed line uses. */
export async function printCompletions(terminal: Terminal, program: Command, typed: readonly string[]): Promise<void> {
  const at = typed.indexOf('--config')
  const known = await knownIn(terminal, at === -1 ? undefined : typed[at + 1])
  for (const word of completionWords(program, typed, known)) terminal.result(word)
}

/** Empty if the configuration cannot be read: commands and options can still be completed. */
async function knownIn(terminal: Terminal, file: string | undefined): Promise<Known> {
  let servers: string[] = []
  let roles = [...rolesOf().keys()]
  try {
    const change = (config: Config): Config => {
      servers = mcpEntries(config).map(({ name }) => name)
      roles = [...rolesOf(config).keys()]
      return withoutServers(config)
    }
    const { manager, close } = await openManager(terminal, file === undefined ? {} : { config: file }, {
      change,
      record: false,
      // Completing a word must not run commands.
      secrets: false,
    })
    await close()
    return { tools: manager.getRegistry().definitions(), servers, roles }
  } catch {
    return { tools: [], servers, roles }
  }
}

/** Words that need no quoting in a shell; other names are not offered. */
const PLAIN = /^[\w.@%+:,/=-]+$/

/** The names in a configuration that can be typed. */
interface Known {
  readonly tools: readonly ToolDefinition[]
  /** The names of MCP servers. */
  readonly servers: readonly string[]
  readonly roles: readonly string[]
}

/** The words that match; the last of `typed` is the word under the cursor, which may be empty. */
export function completionWords(program: Command, typed: readonly string[], known: Known): string[] {
  const before = typed.slice(0, -1)
  const current = typed.at(-1) ?? ''
  const asked = valuedOption(program, before.at(-1))
  if (asked !== undefined) {
    const choices = asked.long === '--role' ? known.roles.filter((role) => PLAIN.test(role)) : (asked.argChoices ?? [])
    return choices.filter((choice) => choice.startsWith(current))
  }
  const plain = before.filter((word, index) => !word.startsWith('-') && !valuedOption(program, before[index - 1]))
  const { command, given } = commandOf(program, plain)
  const found = current.startsWith('-') ? optionsOf(program, command) : argumentsOf(command, given, current, known)
  return found.filter((word) => PLAIN.test(word) && word.startsWith(bare(current)))
}

/** The innermost command that the words name, and the words after it. */
function commandOf(command: Command, words: readonly string[]): { command: Command; given: readonly string[] } {
  const [word, ...rest] = words
  const inner = command.commands.find((one) => one.name() === word)
  return inner === undefined ? { command, given: words } : commandOf(inner, rest)
}

function argumentsOf(command: Command, given: readonly string[], current: string, { tools, servers }: Known): string[] {
  if (given.length === 0) {
    if (command.commands.length > 0) return command.commands.map((one) => one.name())
    if (command.name() === 'completion') return ['bash', 'zsh', 'fish']
    if (command.registeredArguments[0]?.name() === 'server') return [...servers]
  }
  if (command.name() !== 'exec') return []
  const tool = tools.find((one) => one.name === given[0])
  if (tool === undefined) return given.length === 0 ? tools.map((one) => one.name) : []
  return parameterWords(tool, given, current)
}

/** `units=celsius` is one word in zsh and fish, but three words in bash: `units`, `=`, `celsius`. */
function parameterWords(tool: ToolDefinition, given: readonly string[], current: string): string[] {
  if (current === '=') return choices(tool, given.at(-1))
  if (given.at(-1) === '=') return choices(tool, given.at(-2))
  const key = /^([^=]+)=/.exec(current)?.[1]
  if (key !== undefined) return choices(tool, key).map((choice) => `${key}=${choice}`)
  const taken = new Set(given.map((word) => word.split('=')[0]))
  return Object.keys(Object(tool.parameters.properties))
    .filter((name) => !taken.has(name))
    .map((name) => `${name}=`)
}

function choices(tool: ToolDefinition, parameter: string | undefined): string[] {
  const schema = parameter === undefined ? undefined : parameterSchema(tool.parameters, parameter)
  return schema === undefined ? [] : choicesOf(schema).map(String)
}

function optionsOf(program: Command, command: Command): string[] {
  const options = new Set([...program.options, ...command.options])
  return [...[...options].map((option) => option.long ?? ''), '--help']
}

/** The option whose value follows `word`. */
function valuedOption(program: Command, word: string | undefined): Option | undefined {
  if (word === undefined) return undefined
  const own = program.options.find((option) => option.required && (option.long === word || option.short === word))
  if (own !== undefined) return own
  for (const command of program.commands) {
    const inner = valuedOption(command, word)
    if (inner !== undefined) return inner
  }
  return undefined
}

const bare = (current: string): string => (current === '=' ? '' : current)
