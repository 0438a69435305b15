import type { Command, Option } from 'commander'
import type { ToolDefinition } from '../core/tool.ts'
import { choicesOf, parameterSchema } from './typed-value.ts'

/** What a shell can take without quoting: whatever else a configuration calls its tools is not offered. */
const PLAIN = /^[\w.@%+:,/=-]+$/

/** What of a configuration can be typed. */
export interface Known {
  readonly tools: readonly ToolDefinition[]
  /** The names of MCP servers. */
  readonly servers: readonly string[]
}

/** The words that fit after what has been typed; the last of `typed` is the word under the cursor, maybe empty. */
export function completionWords(program: Command, typed: readonly string[], known: Known): string[] {
  const before = typed.slice(0, -1)
  const current = typed.at(-1) ?? ''
  const asked = valuedOption(program, before.at(-1))
  if (asked !== undefined) return (asked.argChoices ?? []).filter((choice) => choice.startsWith(current))
  const plain = before.filter((word, index) => !word.startsWith('-') && !valuedOption(program, before[index - 1]))
  const { command, given } = commandOf(program, plain)
  const found = current.startsWith('-') ? optionsOf(program, command) : argumentsOf(command, given, current, known)
  return found.filter((word) => PLAIN.test(word) && word.startsWith(bare(current)))
}

/** The command that the words name, with those of its parents before it, and the words after it. */
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

/** `units=celsius` is one word in zsh and fish, and the three words `units`, `=`, `celsius` in bash. */
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

/** The option that the word after it is the value of. */
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
