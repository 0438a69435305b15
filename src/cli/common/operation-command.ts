import { type Command, Option } from 'commander'
import type { Installation } from '../../app/installation.ts'
import { systemClock } from '../../core/clock.ts'
import { INVALID, OperationError } from '../../core/operation/operation-error.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { checkInput, compileValidator } from '../../operations/check-input.ts'
import type { AnyOperation, CommandOf, OperationCall, Typed } from '../../operations/operation.ts'
import {
  awaitServers,
  commandUser,
  currentConfig,
  hasStore,
  LONG_WAIT_MS,
  withInstallation,
  withStoreHost,
} from './open.ts'
import { parameterSchema, readInteger, readNumber, readParams, tenantName } from './params.ts'
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
    for (const command of commands) {
      if (command.command.split(' ')[0] === group.name()) define(group, terminal, done, operation, command)
    }
  }
}

function define(group: Command, terminal: Terminal, done: Done, operation: AnyOperation, command: AnyCommand): void {
  const [, name] = command.command.split(' ')
  const defined = name === undefined ? group : group.command(name).description(command.description)
  const fields = Object.keys(command.arguments ?? {})
  for (const [field, about] of Object.entries(command.arguments ?? {})) {
    if (typeof about !== 'string') defined.argument(`[${field}...]`, about.list)
    else defined.argument(command.optional?.includes(field) ? `[${field}]` : `<${field}>`, about)
  }
  const options = Object.entries(command.options ?? {}).flatMap(([field, { flags, description, choices, ...rest }]) => {
    const option = new Option(flags, description).makeOptionMandatory(rest.required === true)
    if (choices !== undefined) option.choices(choices)
    if (rest.default !== undefined) option.default(rest.default)
    defined.addOption(option)
    return field === 'tenant' ? [] : [[field, option.attributeName()] as const]
  })
  if (command.tenant !== undefined) defined.option('--tenant <id>', command.tenant)
  defined.action(
    actions(
      terminal,
      done,
    )(async (_terminal: Terminal, ...words: unknown[]) => {
      const given = words.at(-1) as GlobalOptions & Record<string, Typed[string]>
      const typed: Typed = Object.fromEntries([
        ...fields.flatMap((field, index) => (words[index] === undefined ? [] : [[field, words[index] as string]])),
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
  let input = {} as never
  try {
    const tenant = typeof options.tenant === 'string' ? tenantName(options.tenant) : undefined
    const outside = { clock: systemClock, currentConfig: () => currentConfig(terminal, options) }
    const { stdin, options: known } = command
    const whole =
      stdin === undefined ? typed : { ...typed, [stdin]: await readStdin(terminal, operation, command, typed) }
    input = (await readFields((command.read?.(whole) ?? whole) as Typed, operation, known, terminal)) as never
    checkOptions(operation, command, input)
    checkInput(operation, input)
    const call: OperationCall = { caller: undefined, by: commandUser(), face: 'cli', tenant }
    await operation.check?.(outside, input, call)
    const answer = await open(terminal, options, operation, command, input, call)
    const shown = command.show(answer, input, { ...outside, tenant })
    if (terminal.json) terminal.document('document' in shown ? shown.document : answer)
    else {
      const table = typeof shown.table === 'function' ? await shown.table() : shown.table
      if (table !== undefined) showTable(terminal, table)
      for (const line of shown.result ?? []) terminal.result(printableLine(line))
      for (const note of shown.notes ?? []) terminal.note(printableLine(note))
    }
    return shown.code ?? 0
  } catch (error) {
    if (error instanceof ToolExecutionError) throw new UsageError(printableLine(error.message), { cause: error })
    if (!(error instanceof OperationError)) throw error
    const { message, missing } = error
    const thing = typeof command.thing === 'function' ? command.thing(input) : command.thing
    const why = missing === undefined || thing === undefined ? message : `There is no ${thing} '${missing}'`
    const fix = missing === undefined || command.hint === undefined ? error.hint : command.hint
    const sentence = [message === INVALID ? undefined : why, fix].filter((part) => part !== undefined).join(': ')
    throw new UsageError(printableLine(sentence.endsWith('.') ? sentence : `${sentence}.`), { cause: error })
  }
}

/** Opens what the operation needs. Reading creates no store. */
async function open(
  terminal: Terminal,
  options: GlobalOptions,
  operation: AnyOperation,
  { nothing, arguments: named, tool, creates, secrets = true }: AnyCommand,
  input: never,
  call: OperationCall,
): Promise<unknown> {
  if (!hasStore(terminal) && !creates) {
    if (typeof nothing === 'function') return nothing(await currentConfig(terminal, options), input)
    if (nothing !== undefined) return nothing
    const [first] = Object.keys(named ?? {})
    if (first !== undefined) throw new OperationError('not_found', 'not found', undefined, input[first])
  }
  if (operation.needs === 'store') {
    return withStoreHost(terminal, options, async (host) => (operation as AnyOperation).run(host as never, input, call))
  }
  const work = async (installation: Installation) => {
    const { manager } = installation
    const needed = operation.needs === 'servers' ? await tool?.(installation, input) : null
    if (needed !== null) {
      const isThere = () => needed !== undefined && manager.getRegistry().find(needed) !== undefined
      await awaitServers(manager, { ms: LONG_WAIT_MS, enough: isThere, terminal })
    }
    return operation.run(installation as never, input, call)
  }
  return withInstallation(terminal, options, work, { record: 'always', secrets })
}

/** The schema of a field such as `guard.min_calls`. For one that can be null, that of its values. */
function schemaOf({ params, query, body }: AnyOperation, field: string): JsonSchema | undefined {
  const inside = (schema: JsonSchema | undefined, name: string) => schema && parameterSchema(schema, name)
  const schema = [params, query, body]
    .map((part) => field.split('.').reduce(inside, part as JsonSchema | undefined))
    .find((found) => found !== undefined)
  const [first] = (schema?.anyOf ?? []) as readonly (JsonSchema | undefined)[]
  return first ?? schema
}

/** Values that were typed as text, as the schemas of their fields have them. */
async function readFields(
  typed: Typed,
  operation: AnyOperation,
  options: AnyCommand['options'],
  { stdin }: Terminal,
): Promise<object> {
  const input: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(typed)) {
    const { type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = Object(schemaOf(operation, field)) as JsonSchema
    const option = options?.[field]?.flags.split(' ')[0] ?? field
    const read = { integer: readInteger, number: readNumber }[String(type)]
    const [name = field, inner] = field.split('.')
    const one =
      typeof value !== 'string'
        ? value
        : type === 'object'
          ? await readParams([value], undefined, stdin)
          : (read?.(option, value, Number(minimum), Number(maximum)) ?? value)
    input[name] = inner === undefined ? one : { ...Object(input[name]), [inner]: one }
  }
  return input
}

/** Says what an option takes if the schema of its field refuses the value. */
function checkOptions(operation: AnyOperation, { options = {} }: AnyCommand, input: object): void {
  for (const [field, { flags, takes }] of Object.entries(options)) {
    const schema = schemaOf(operation, field)
    const value = (input as Readonly<Record<string, unknown>>)[field]
    if (takes === undefined || schema === undefined || value === undefined || value === null) continue
    const checked = compileValidator({ schema, httpPart: 'body' })(value)
    if (checked === true) continue
    const index = /^\/(\d+)/.exec(checked.error[0]?.instancePath ?? '')?.[1]
    const wrong = !Array.isArray(value)
      ? `'${value}'`
      : index === undefined
        ? value.length
        : `'${value[Number(index)]}'`
    throw new UsageError(printableLine(`${flags.split(' ')[0]} takes ${takes}, not ${wrong}.`))
  }
}

/** Editors and `echo` add a line break at the end. */
async function readStdin(
  { stdin }: Terminal,
  operation: AnyOperation,
  { command, arguments: named = {}, stdin: field = '' }: AnyCommand,
  typed: Typed,
): Promise<string> {
  if (stdin.isTTY) {
    const words = [command, ...Object.keys(named).map((name) => typed[name])].join(' ')
    throw new UsageError(
      printableLine(`Give the ${field} on stdin: printf %s "$${field.toUpperCase()}" | toolyard ${words}`),
    )
  }
  const max = Number(schemaOf(operation, field)?.maxLength ?? Number.POSITIVE_INFINITY)
  let text = ''
  stdin.setEncoding('utf8')
  for await (const piece of stdin) {
    text += piece
    if (text.length > max + 2) throw new UsageError(`The ${field} is longer than ${Math.round(max / 1024)} KB.`)
  }
  return text.replace(/\r?\n$/, '')
}
