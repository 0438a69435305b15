import type { JsonSchema, Params } from '../core/tool.ts'
import { printableLine } from './printable.ts'
import { parameterSchema, typedValue } from './typed-value.ts'
import { UsageError } from './usage-error.ts'

/** Twice what a call may hold, so that the executor gets to say it in its own words. */
const MOST_INPUT = 2 * 1024 * 1024
const PAIR = /^([^\s={}[\]"']+)=(.*)$/s
const STDIN = 'stdin'
const FORMS = 'Give one JSON object, - to read it from stdin, or key=value pairs.'

/** The parameters of a call, as typed: one JSON object, `-` for stdin, or `key=value` pairs read by the tool's schema. */
export async function readParams(
  words: readonly string[],
  schema: JsonSchema | undefined,
  input: AsyncIterable<Buffer | string>,
): Promise<Params> {
  const [first, ...more] = words
  if (first === undefined) return {}
  if (PAIR.test(first)) return readPairs(words, schema)
  if (more.length > 0) {
    throw new UsageError(`${words.length} parameters were given and ${quoted(first)} is no key=value pair. ${FORMS}`)
  }
  return first === '-' ? readObject(await readAll(input), STDIN) : readObject(first, 'the parameter')
}

function readPairs(words: readonly string[], schema: JsonSchema | undefined): Params {
  const pairs = new Map<string, unknown>()
  for (const word of words) {
    const [, key, text] = PAIR.exec(word) ?? []
    if (key === undefined || text === undefined) throw new UsageError(`${quoted(word)} is no key=value pair. ${FORMS}`)
    if (pairs.has(key)) throw new UsageError(`${quoted(key)} is given twice. Write a list as JSON: ${key}='["a","b"]'`)
    pairs.set(key, typedValue(text, schema && parameterSchema(schema, key)))
  }
  // As own properties even where a key is `__proto__`: refusing it is the executor's business.
  return Object.fromEntries(pairs)
}

function readObject(text: string, place: string): Params {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (place !== STDIN && !/^\s*[{[]/.test(text)) {
      throw new UsageError(`${quoted(text)} is neither a JSON object nor a key=value pair. ${FORMS}`)
    }
    const reason = printableLine(error instanceof Error ? error.message : String(error))
    throw new UsageError(`${place} is not valid JSON: ${reason}. ${FORMS}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Params
  const what = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  throw new UsageError(`${place} must be a JSON object, not ${what}. ${FORMS}`)
}

async function readAll(input: AsyncIterable<Buffer | string>): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of input) {
    const bytes = Buffer.from(piece)
    size += bytes.length
    if (size > MOST_INPUT) throw new UsageError(`stdin holds more than ${MOST_INPUT} bytes, the most that is read.`)
    pieces.push(bytes)
  }
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
}

function quoted(text: string): string {
  return `'${printableLine(text.length > 60 ? `${text.slice(0, 60)}…` : text)}'`
}
