import { type Command, CommanderError } from 'commander'
import { printable } from './printable.ts'
import { createProgram } from './program.ts'
import { createTerminal, type Io, processIo, type Terminal } from './terminal.ts'
import { UsageError } from './usage-error.ts'

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
