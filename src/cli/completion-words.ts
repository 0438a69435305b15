import type { Command } from 'commander'
import type { ToolDefinition } from '../core/tool.ts'
import { choicesOf, parameterSchema } from './typed-value.ts'

/** What a shell can take without quoting: whatever else a configuration calls its tools is not offered. */
const PLAIN = /^[\w.@%+:,/=-]+$/

/** The words that fit after what has been typed; the last of `typed` is the word under the cursor, maybe empty. */
export function completionWords(
  program: Command,
  typed: readonly string[],
  tools: readonly ToolDefinition[],
): string[] {
  const before = typed.slice(0, -1)
  const current = typed.at(-1) ?? ''
  if (takesValue(program, before.at(-1))) return []
  const plain = before.filter((word, index) => !word.startsWith('-') && !takesValue(program, before[index - 1]))
  const command = program.commands.find((one) => one.name() === plain[0])
  const found = current.startsWith('-')
    ? optionsOf(program, command)
    : command === undefined
      ? program.commands.map((one) => one.name())
      : argumentsOf(command, plain.slice(1), current, tools)
  return found.filter((word) => PLAIN.test(word) && word.startsWith(bare(current)))
}

function argumentsOf(command: Command, given: readonly string[], current: string, tools: readonly ToolDefinition[]) {
  if (command.name() === 'completion') return given.length === 0 ? ['bash', 'zsh', 'fish'] : []
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

function optionsOf(program: Command, command: Command | undefined): string[] {
  const options = [...program.options, ...(command?.options ?? [])]
  return [...options.map((option) => option.long ?? ''), '--help']
}

function takesValue(program: Command, word: string | undefined): boolean {
  if (word === undefined) return false
  const options = [program, ...program.commands].flatMap((one) => one.options)
  return options.some((option) => option.required && (option.long === word || option.short === word))
}

const bare = (current: string): string => (current === '=' ? '' : current)
