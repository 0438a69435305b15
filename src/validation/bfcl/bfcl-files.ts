import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SuiteError } from '../suites/suite-error.ts'
import type { BfclCategory } from './bfcl-category.ts'
import type { BfclFunction } from './bfcl-function.ts'

/** A line of a file, with its place for messages. */
export interface Line {
  readonly place: string
  readonly value: Readonly<Record<string, unknown>>
}

export const questionFile = (folder: string, { name }: BfclCategory): string =>
  join(folder, 'bfcl', `BFCL_v4_${name}.json`)

export const answerFile = (folder: string, { name }: BfclCategory): string =>
  join(folder, 'bfcl', 'possible_answer', `BFCL_v4_${name}.json`)

/** The answers by the id of their question. */
export async function readAnswers(folder: string, category: BfclCategory): Promise<Map<string, Line>> {
  const lines = await readLines(answerFile(folder, category))
  return new Map(lines.map((line) => [String(line.value.id), line]))
}

/** The classes that the multi-turn questions name, and the files that document them. */
const CLASS_FILES: Readonly<Record<string, string>> = {
  GorillaFileSystem: 'gorilla_file_system',
  MathAPI: 'math_api',
  MessageAPI: 'message_api',
  TwitterAPI: 'posting_api',
  TicketAPI: 'ticket_api',
  TradingBot: 'trading_bot',
  TravelAPI: 'travel_booking',
  VehicleControlAPI: 'vehicle_control',
}

/** The functions of each class. */
export async function readClasses(folder: string): Promise<Map<string, readonly BfclFunction[]>> {
  const read = Object.entries(CLASS_FILES).map(async ([name, file]) => {
    const lines = await readLines(join(folder, 'bfcl', 'multi_turn_func_doc', `${file}.json`))
    return [name, lines.map(({ place, value }) => functionIn(value, place))] as const
  })
  return new Map(await Promise.all(read))
}

/** A documented function, with nothing missing that the rules look at. */
export function functionIn(value: unknown, place: string): BfclFunction {
  const { name, description, parameters } = Object(value) as Partial<BfclFunction>
  if (typeof name !== 'string' || !isObject(parameters)) {
    throw new SuiteError(`${place}: a function has no name or no parameters: get the file again.`)
  }
  const { properties = {}, required = [] } = parameters as Partial<BfclFunction['parameters']>
  return {
    name,
    description: description || `The function ${name}.`,
    parameters: { ...parameters, properties, required },
  }
}

/** A file with one JSON object a line. */
export async function readLines(file: string): Promise<Line[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SuiteError(`${file} cannot be read (${code}): ${WHERE}`, { cause: error })
  }
  return text.split('\n').flatMap((line, index) => {
    const place = `${file}:${index + 1}`
    return line.trim() === '' ? [] : [{ place, value: objectIn(line, place) }]
  })
}

/** Where the cases can be had, as the end of a sentence. */
export const WHERE =
  'the cases are at https://github.com/ShishirPatil/gorilla in berkeley-function-call-leaderboard/bfcl_eval/data. ' +
  'Copy that folder as "bfcl" into a folder of your own, and name yours in TOOLYARD_DATA_SETS.'

function objectIn(line: string, place: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line)
    if (isObject(value)) return value
  } catch {
    // Said below.
  }
  throw new SuiteError(`${place}: the line is no JSON object: get the file again.`)
}
