import type { OfferedTool } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import type { ParameterReading, ParameterText, ToolReader, ToolText } from '../engine/tool-reader.ts'
import { type Parameter, readParameters } from './parameter.ts'

/** What the model reads in a message about a tool. */
export interface ToolReading {
  /** From 0 to 1. */
  readonly relevance: number
  /** By path, such as `place.city`. */
  readonly parameters: ReadonlyMap<string, ParameterReading>
}

const MAX_DESCRIPTION = 200
const MAX_PARAMETER_DESCRIPTION = 100
const MAX_OPTIONS = 16
const MAX_OPTION_LENGTH = 40

interface KnownTool {
  readonly text: ToolText
  readonly paths: readonly string[]
}

const known = new WeakMap<OfferedTool, KnownTool>()

/** Reads a message together with each of the tools. */
export async function readTools(
  tools: readonly OfferedTool[],
  said: string,
  { reader, signal }: { readonly reader: ToolReader; readonly signal?: AbortSignal },
): Promise<ToolReading[]> {
  const texts = tools.map(textOf)
  const readings = await reader.read(
    texts.map(({ text }) => ({ said, tool: text })),
    signal,
  )
  return readings.map(({ relevance, parameters }, at) => ({
    relevance,
    parameters: new Map(
      (texts[at] as KnownTool).paths.map((path, index) => [path, parameters[index] as ParameterReading]),
    ),
  }))
}

/** The name and the description of a tool, as the model was trained with them. */
export const headOf = ({ name, description }: OfferedTool): string => {
  const text = oneLine(description, MAX_DESCRIPTION)
  return `${wordsOfName(name)}.${text === '' ? '' : ` ${text}`}`
}

/** A tool as the model reads it, and the path of each parameter. */
export function textOf(tool: OfferedTool): KnownTool {
  const before = known.get(tool)
  if (before !== undefined) return before
  const parameters = flattened(readParameters(tool.parameters), '', true)
  const made = {
    text: { head: headOf(tool), parameters: parameters.map(({ text }) => text) },
    paths: parameters.map(({ path }) => path),
  }
  known.set(tool, made)
  return made
}

/** An object is read as its members. */
function flattened(
  parameters: readonly Parameter[],
  prefix: string,
  needed: boolean,
): { readonly path: string; readonly text: ParameterText }[] {
  return parameters.flatMap((parameter) => {
    const path = prefix + parameter.name
    const required = needed && parameter.required
    if (parameter.members.length > 0) return flattened(parameter.members, `${path}.`, required)
    return [{ path, text: { text: parameterText(path, parameter), required, options: optionTexts(parameter) } }]
  })
}

function parameterText(path: string, { kind, options, description }: Parameter): string {
  const numeric =
    kind === 'option' ? options.every((one) => typeof one === 'number') : /^(?:number|integer)$/.test(kind)
  const type = numeric ? ' (number)' : kind === 'list' ? ' (list)' : ''
  const text = oneLine(description, MAX_PARAMETER_DESCRIPTION)
  return `${wordsOfName(path)}${type}${text === '' ? '' : `: ${text}`}`
}

function optionTexts({ kind, options, items }: Parameter): string[] {
  if (kind === 'boolean') return ['true', 'false']
  const all = kind === 'list' ? (items?.options ?? []) : options
  return all.slice(0, MAX_OPTIONS).map((one) => String(one).toLowerCase().slice(0, MAX_OPTION_LENGTH))
}

const oneLine = (text: string, length: number): string => text.replaceAll(/\s+/g, ' ').slice(0, length)
