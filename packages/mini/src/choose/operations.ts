import type { Params } from '../base/port.ts'
import type { Parameter } from '../fill/parameter.ts'

/** An operation of a tool that has several: its name and parameters. */
export interface Operation {
  /** The parameter that selects it, and its value. */
  readonly parameter: string
  readonly option: string
  readonly description: string
  /** Its parameters, and whether they are required. */
  readonly parameters: readonly Parameter[]
  /** Alternatives, of which at least one must be mentioned. */
  readonly standIns: Readonly<Record<string, unknown>>
}

const NEEDS = /(?:[,;]\s*|(?<!\s)\s+)?(?:it )?needs? ((?:["'][\w-]+["'](?:,\s*|\s+and\s+)?)+)/i
const FOR = /^For ([\w-]+(?:(?:, | and |, and )[\w-]+)*):\s*/
/** Each operation is compared with the message like a tool. */
const MAX_OPERATIONS = 32
const OR_NOW = /\bor ["']now["']/i

/** The operations of a tool, from the description of its required choice: "now: the time. diff: …". */
export function operationsOf(parameters: readonly Parameter[]): Operation[] {
  for (const parameter of parameters) {
    const said = parameter.kind === 'option' && parameter.required ? describedOptions(parameter) : []
    if (said.length > 1 && said.length <= MAX_OPERATIONS)
      return said.map((one) => operation(parameter, one, parameters))
  }
  return []
}

/** The parameters of a call; for a tool with operations, those of the chosen one. */
export function parametersUsed(parameters: readonly Parameter[], params: Params): readonly Parameter[] {
  const used = operationsOf(parameters).find(({ parameter, option }) => params[parameter] === option)
  return used?.parameters ?? parameters
}

interface Described {
  readonly option: string
  readonly text: string
}

/** Every option with its description; empty if one has none. */
function describedOptions({ options, description }: Parameter): Described[] {
  const names = options.filter((one) => typeof one === 'string' && /^[\w -]+$/.test(one)) as string[]
  if (names.length < options.length) return []
  const label = new RegExp(`(?:^|[.;]\\s+)(${names.join('|')}):\\s+`, 'g')
  const found = [...description.matchAll(label)]
  const said = found.map(({ index, 0: all, 1: option = '' }, at) => ({
    option,
    text: description.slice(index + all.length, found[at + 1]?.index).trim(),
  }))
  return names.every((name) => said.filter(({ option }) => option === name).length === 1) ? said : []
}

function operation(choice: Parameter, { option, text }: Described, all: readonly Parameter[]): Operation {
  const needed = new Set([...(NEEDS.exec(text)?.[1] ?? '').matchAll(/[\w-]+/g)].map(([name]) => name))
  const parameters: Parameter[] = []
  const standIns: Record<string, unknown> = {}
  for (const parameter of all) {
    const of = owners(parameter, choice.options)
    if (parameter === choice || (of.length > 0 && !of.includes(option))) continue
    const standsIn = needed.has(parameter.name) && OR_NOW.test(parameter.description)
    if (standsIn) standIns[parameter.name] = 'now'
    const required = parameter.required || (needed.has(parameter.name) && !standsIn)
    parameters.push({ ...parameter, required, description: parameter.description.replace(FOR, '') })
  }
  const description = text.replace(NEEDS, '').replace(/\.$/, '').trim()
  return { parameter: choice.name, option, description, parameters, standIns }
}

/** The options that a parameter says it is for: "For count and replace: …". */
function owners({ description }: Parameter, options: readonly unknown[]): string[] {
  const names = FOR.exec(description)?.[1]?.split(/, and |, | and /) ?? []
  return names.every((name) => options.includes(name)) ? names : []
}
