import type { Command } from 'commander'
import { TextSeal } from '../../app/durable/sealed-text.ts'
import { MAX_SECRET_CHARACTERS, Secrets, secretProblem } from '../../app/secrets.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { hasStore, openLog, withEvents } from '../common/open.ts'
import { actions, type Done, type GlobalOptions, printableLine, type Terminal, UsageError } from '../common/terminal.ts'

const HELP = `
The configuration refers to a secret as "\${secret:NAME}". Secrets are encrypted with TOOLYARD_ENCRYPTION_KEY, and never shown.
Running servers use a new value at once.

Examples:
  $ printf %s "$GITHUB_TOKEN" | toolyard secrets set GITHUB_TOKEN
  $ toolyard secrets set STRIPE_KEY < stripe.key
  $ toolyard secrets remove STRIPE_KEY`

export function defineSecrets(secrets: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  secrets.addHelpText('after', HELP)
  secrets.command('list').description('List the names of the secrets').action(run(secretsList))
  secrets
    .command('set')
    .description('Store a secret, whose value is read from stdin')
    .argument('<name>', 'letters, digits and _')
    .action(run(secretsSet))
  secrets
    .command('remove')
    .description('Remove a secret')
    .argument('<name>', 'a name that "secrets list" shows')
    .action(run(secretsRemove))
}

async function secretsList(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const names = hasStore(terminal) ? await withSecrets(terminal, options, (secrets) => secrets.names()) : []
  if (terminal.json) terminal.document({ secrets: names.map((name) => ({ name })) })
  else if (names.length === 0) terminal.note('There are no secrets.')
  else for (const name of names) terminal.result(printableLine(name))
  return 0
}

async function secretsSet(terminal: Terminal, name: string, options: GlobalOptions): Promise<number> {
  if (terminal.stdin.isTTY) {
    throw new UsageError(`Give the value on stdin: printf %s "$VALUE" | toolyard secrets set ${printableLine(name)}`)
  }
  const value = await readValue(terminal)
  const problem = secretProblem(name, value)
  if (problem !== undefined) throw new UsageError(`${printableLine(problem)}.`)
  await withSecrets(terminal, options, (secrets, by) => secrets.set(name, value, by))
  if (terminal.json) terminal.document({ name })
  else terminal.result(`Stored ${name}. Refer to it as "\${secret:${name}}" in the configuration.`)
  return 0
}

async function secretsRemove(terminal: Terminal, name: string, options: GlobalOptions): Promise<number> {
  const isRemoved =
    hasStore(terminal) && (await withSecrets(terminal, options, (secrets, by) => secrets.remove(name, by)))
  if (!isRemoved) throw new UsageError(printableLine(`There is no secret '${name}': see "toolyard secrets list".`))
  if (terminal.json) terminal.document({ name, removed: true })
  else terminal.result(`Removed ${name}`)
  return 0
}

/** Editors and `echo` add a line break at the end. */
async function readValue({ stdin }: Terminal): Promise<string> {
  let text = ''
  stdin.setEncoding('utf8')
  for await (const piece of stdin) {
    text += piece
    if (text.length > MAX_SECRET_CHARACTERS + 2) throw new UsageError('The value is longer than 64 KB.')
  }
  return text.replace(/\r?\n$/, '')
}

type By = Parameters<Secrets['set']>[2]

async function withSecrets<T>(
  terminal: Terminal,
  options: GlobalOptions,
  work: (secrets: Secrets, by: By) => Promise<T>,
): Promise<T> {
  const seal = TextSeal.from(terminal.env)
  const log = openLog(terminal, options)
  try {
    return await withEvents(terminal, options, (events, by, { settings }) =>
      work(new Secrets({ settings, seal, events, log }), by),
    )
  } catch (error) {
    throw error instanceof ToolExecutionError ? new UsageError(`${error.message}.`, { cause: error }) : error
  }
}
