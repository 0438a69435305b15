import { type Command, Option } from 'commander'
import { OperationError } from '../../core/operation/operation-error.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { checkInput } from '../../operations/check-input.ts'
import type { AnyOperation, CommandOf, OperationCall, Typed } from '../../operations/operation.ts'
import { awaitServers, commandUser, hasStore, LONG_WAIT_MS, withInstallation, withStoreHost } from './open.ts'
import { parameterSchema, readInteger, readParams, tenantName } from './params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from './terminal.ts'

type AnyCommand = CommandOf<never, unknown>

/** Adds the commands of operations to their group. */
export function defineOperations(
  group: Command,
  terminal: Terminal,
  done: Done,
  operations: Readonly<Record<string, AnyOperation>>,
): void {
  for (const operation of Object.values(operations)) {
    const commands = (operation.cli === undefined ? [] : [operation.cli].flat()) as readonly AnyCommand[]
    for (const command of commands) define(group, terminal, done, operation, command)
  }
}

function define(group: Command, terminal: Terminal, done: Done, operation: AnyOperation, command: AnyCommand): void {
  const [, name] = command.command.split(' ')
  const defined = name === undefined ? group : group.command(name).description(command.description)
  const fields = Object.keys(command.arguments ?? {})
  for (const [field, description] of Object.entries(command.arguments ?? {})) {
    defined.argument(`<${field}>`, description)
  }
  const options = Object.entries(command.options ?? {}).map(([field, { flags, description, choices, ...rest }]) => {
    const option = new Option(flags, description)
    if (choices !== undefined) option.choices(choices)
    if (rest.default !== undefined) option.default(rest.default)
    defined.addOption(option)
    return [field, option.attributeName()] as const
  })
  if (command.tenant !== undefined) defined.option('--tenant <id>', command.tenant)
  defined.action(
    actions(
      terminal,
      done,
    )(async (_terminal: Terminal, ...words: unknown[]) => {
      const given = words.at(-1) as GlobalOptions & Record<string, Typed[string]>
      const typed: Typed = Object.fromEntries([
        ...fields.map((field, index) => [field, words[index] as string]),
        ...options.flatMap(([field, attribute]) => (given[attribute] === undefined ? [] : [[field, given[attribute]]])),
      ])
      return run(terminal, given, operation, command, typed)
    }),
  )
}

/** Runs the operation as the user of this machine, and shows its answer. */
async function run(
  terminal: Terminal,
  options: GlobalOptions & Record<string, Typed[string]>,
  operation: AnyOperation,
  command: AnyCommand,
  typed: Typed,
): Promise<number> {
  const { thing, hint } = command
  try {
    const tenant = typeof options.tenant === 'string' ? tenantName(options.tenant) : undefined
    const said = command.read?.(typed) ?? typed
    const input = (await readFields(said as Typed, operation, terminal)) as never
    checkInput(operation, input)
    const call: OperationCall = { caller: undefined, by: commandUser(), face: 'cli', tenant }
    const answer = await open(terminal, options, operation, command, input, call)
    const shown = command.show(answer, input)
    if (terminal.json) terminal.document('document' in shown ? shown.document : answer)
    else {
      if (shown.table !== undefined) showTable(terminal, shown.table)
      for (const line of shown.result ?? []) terminal.result(printableLine(line))
      for (const note of shown.notes ?? []) terminal.note(note)
    }
    return shown.code ?? 0
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    const { message, missing } = error
    const why = missing === undefined || thing === undefined ? message : `There is no ${thing} '${missing}'`
    const fix = missing === undefined || hint === undefined ? error.hint : hint
    throw new UsageError(printableLine(`${why}${fix === undefined ? '' : `: ${fix}`}.`), { cause: error })
  }
}

/** Opens what the operation needs. Reading creates no store. */
async function open(
  terminal: Terminal,
  options: GlobalOptions,
  operation: AnyOperation,
  { nothing, arguments: named, tool }: AnyCommand,
  input: never,
  call: OperationCall,
): Promise<unknown> {
  if (!hasStore(terminal)) {
    if (nothing !== undefined) return nothing
    const [first] = Object.keys(named ?? {})
    if (first !== undefined) throw new OperationError('not_found', 'not found', undefined, input[first])
  }
  if (operation.needs === 'store') {
    return withStoreHost(terminal, options, async (host) => (operation as AnyOperation).run(host as never, input, call))
  }
  return withInstallation(terminal, options, async (installation) => {
    const { manager } = installation
    const needed = operation.needs === 'servers' ? await tool?.(installation, input) : null
    if (needed !== null) {
      const isThere = () => needed !== undefined && manager.getRegistry().find(needed) !== undefined
      await awaitServers(manager, { ms: LONG_WAIT_MS, enough: isThere, terminal })
    }
    return operation.run(installation as never, input, call)
  })
}

/** Values that were typed as text, as the schemas of their fields have them. */
async function readFields(typed: Typed, { params, query, body }: AnyOperation, { stdin }: Terminal): Promise<object> {
  const schemaOf = (field: string) =>
    [params, query, body].flatMap((part) =>
      part === undefined ? [] : (parameterSchema(part as JsonSchema, field) ?? []),
    )[0]
  const entries = Object.entries(typed).map(async ([field, value]) => {
    const { type, minimum, maximum } = Object(schemaOf(field)) as JsonSchema
    const option = `--${field.replaceAll('_', '-')}`
    if (typeof value !== 'string') return [field, value]
    if (type === 'object') return [field, await readParams([value], undefined, stdin)]
    if (type === 'integer') {
      return [field, readInteger(option, value, Number(minimum ?? 0), Number(maximum ?? Number.MAX_SAFE_INTEGER))]
    }
    return [field, value]
  })
  return Object.fromEntries(await Promise.all(entries))
}
