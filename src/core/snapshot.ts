import { jsonProblem, MAX_JSON_DEPTH } from './json/json-depth.ts'
import type { Params } from './tool.ts'
import { ToolExecutionError } from './tool-result.ts'

/** Size limits of parameters and results. */
export const LIMITS = {
  paramsDepth: 64,
  paramsEntries: 10_000,
  paramsBytes: 1024 * 1024,
  /** `paramsDepth` and the levels of the surrounding message. */
  bodyDepth: 72,
  resultDepth: MAX_JSON_DEPTH,
  /** `resultDepth` and the levels of the surrounding message. */
  answerDepth: MAX_JSON_DEPTH + 8,
  resultBytes: 1024 * 1024,
} as const

/** The call's own copy of the parameters, and its size. */
export interface ParamsSnapshot {
  params: Params
  nodes: number
  characters: number
  /** No value is an object or array. */
  flat: boolean
}

/** Careless code that copies a property of such a name changes a prototype. Callers may send those that the schema has. */
export const UNUSUAL_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

const NONE: ReadonlySet<string> = new Set()

/**
 * Checks and copies parameters, so that getters and later changes by the caller have no effect. `unusual`: the names that
 * the schema has of `UNUSUAL_NAMES`.
 */
export function snapshotParams(given: unknown, unusual = NONE): ParamsSnapshot {
  const value = given === undefined ? {} : given
  if (typeof value !== 'object' || value === null) throw invalid(noObject(value))
  const flat = copyFlat(value, true)
  if (flat === WIDE) throw invalid(tooManyEntries('an object').message)
  if (flat !== undefined) return { params: flat, nodes: flatNodes, characters: flatCharacters, flat: true }
  const outer = walk
  const { paramsDepth: maxDepth, paramsBytes: maxBytes } = LIMITS
  walk = { strict: true, unusual, maxDepth, maxBytes, nodes: 1, characters: 0 }
  try {
    if (Array.isArray(value)) throw new Refusal(noObject(value))
    const params = copyObject(value, 0) as Params
    if (tooLarge(params)) throw new Refusal(TOO_LARGE)
    return { params, nodes: walk.nodes, characters: walk.characters, flat: false }
  } catch (error) {
    throw error instanceof Refusal ? invalid(error.message) : invalid('the parameters could not be read')
  } finally {
    walk = outer
  }
}

/** Copies a tool's return value into plain JSON. */
export function snapshotResult(value: unknown, maxBytes: number): unknown {
  if (typeof value === 'object' && value !== null && maxBytes >= FLAT_BYTES) {
    const flat = copyFlat(value, false)
    if (flat !== undefined) return flat
  }
  const outer = walk
  walk = { strict: false, unusual: NONE, maxDepth: LIMITS.resultDepth, maxBytes, nodes: 1, characters: 0 }
  try {
    const result = copy(value, 0) ?? null
    if (tooLarge(result)) throw new Refusal(TOO_LARGE)
    return result
  } catch (error) {
    if (!(error instanceof Refusal)) throw unusable('it could not be read')
    throw error.message === TOO_LARGE ? oversized(maxBytes) : unusable(error.message)
  } finally {
    walk = outer
  }
}

const TOO_LARGE = `the parameters are larger than ${LIMITS.paramsBytes} bytes`
/** One character is at most six bytes of JSON (`\u0000`). */
const MAX_BYTES_PER_CHARACTER = 6

const MAX_NUMBER_LENGTH = 25
const FLAT_CHARACTERS = 4_096
const FLAT_BYTES = FLAT_CHARACTERS * MAX_BYTES_PER_CHARACTER
const MAX_ENTRIES = LIMITS.paramsEntries
/** Stands for too many entries. They are counted before they are copied, which takes most of a second for 100,000. */
const WIDE: Params = {}

/** The size of the last flat copy. Module variables, because every call makes two copies. */
let flatNodes = 0
let flatCharacters = 0

/** The fast path for small objects without nested values. Returns undefined for anything else and anything invalid. */
function copyFlat(value: object, strict: boolean): Params | undefined {
  let params: Params
  try {
    // Faster than reading the prototype; a wrong answer only leads to the slow path.
    if (value.constructor !== Object) return undefined
    let entries = 0
    if (strict) for (const _ in value) if (++entries > MAX_ENTRIES) return WIDE
    params = { ...value }
  } catch {
    return undefined
  }
  let nodes = 1
  let room = FLAT_CHARACTERS
  for (const key in params) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype') return undefined
    const one = params[key]
    if (typeof one === 'string') {
      if (strict && !one.isWellFormed()) return undefined
      room -= one.length
    } else if (typeof one === 'number') {
      if (!Number.isFinite(one)) return undefined
      room -= MAX_NUMBER_LENGTH
    } else if (typeof one !== 'boolean' && one !== null) {
      return undefined
    }
    room -= key.length + 10
    if (room < 0) return undefined
    nodes++
  }
  flatNodes = nodes
  flatCharacters = FLAT_CHARACTERS - room
  return params
}

class Refusal extends Error {}

interface Walk {
  /** Parameters have stricter rules than results. */
  readonly strict: boolean
  readonly unusual: ReadonlySet<string>
  readonly maxDepth: number
  readonly maxBytes: number
  nodes: number
  characters: number
}

/** A module variable for speed. The `finally` above restores it if a getter makes another call. */
let walk: Walk = { strict: true, unusual: NONE, maxDepth: 0, maxBytes: 0, nodes: 0, characters: 0 }

function copy(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      if (walk.strict && !value.isWellFormed()) throw notUnicode()
      count(value.length + 2)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Refusal(`${value} is not a finite number`)
      count(1)
      return value
    case 'boolean':
      count(4)
      return value
    case 'object':
      if (value !== null) return Array.isArray(value) ? copyArray(value, depth) : copyObject(value, depth)
      count(4)
      return null
    case 'bigint':
      throw new Refusal('a BigInt is not valid JSON: send it as a string')
    default:
      return undefined
  }
}

function copyObject(value: object, depth: number): unknown {
  if (depth >= walk.maxDepth) throw tooDeep()
  if (Object.getPrototypeOf(value) !== Object.prototype && 'toJSON' in value && typeof value.toJSON === 'function') {
    return copy(value.toJSON(), depth + 1)
  }
  // Before it is copied: each element of a typed array would become an entry.
  if (ArrayBuffer.isView(value)) refuseLossy(value)
  const { strict, unusual } = walk
  if (strict && Object.keys(value).length > MAX_ENTRIES) throw tooManyEntries('an object')
  const result: Record<string, unknown> = { ...value }
  // Inline, because nearly all values are texts and numbers.
  let entries = 0
  let characters = 2
  for (const key in result) {
    if (strict && (key === '__proto__' || key === 'constructor' || key === 'prototype') && !unusual.has(key)) {
      throw new Refusal(`the key '${key}' is not allowed`)
    }
    entries++
    characters += key.length + 4
    const one = result[key]
    if (typeof one === 'string') {
      characters += one.length + 2
      if (strict && !one.isWellFormed()) throw notUnicode()
    } else if (typeof one === 'number' && Number.isFinite(one)) {
      characters++
    } else {
      replace(result, key, copy(one, depth + 1))
    }
  }
  if (entries === 0) refuseLossy(value)
  walk.nodes += entries
  count(characters)
  return result
}

const PLAIN = '[object Object]'

/** A Map, a stream or a forgotten promise has no properties: it would silently become an empty object. */
function refuseLossy(value: object): void {
  const tag = Object.prototype.toString.call(value)
  if (tag === PLAIN) return
  const name = tag.slice('[object '.length, -1)
  const fix = name === 'Promise' ? 'await it' : 'use objects, arrays, texts and numbers'
  throw new Refusal(`a value of type ${name} is not valid JSON: ${fix}`)
}

function replace(result: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) delete result[key]
  else result[key] = value
}

function copyArray(value: readonly unknown[], depth: number): unknown[] {
  if (depth >= walk.maxDepth) throw tooDeep()
  // Read once: a proxy may return a larger length each time.
  const length = Number(value.length) || 0
  if (walk.strict && length > LIMITS.paramsEntries) throw tooManyEntries('an array')
  count(length + 2)
  const result: unknown[] = []
  for (let index = 0; index < length; index++) {
    walk.nodes++
    result.push(copy(value[index], depth + 1) ?? null)
  }
  return result
}

function count(characters: number): void {
  walk.characters += characters
  if (walk.characters > walk.maxBytes + 2) throw new Refusal(TOO_LARGE)
}

/** Counts the bytes only if the estimate isn't conclusive. */
function tooLarge(result: unknown): boolean {
  if (walk.characters * MAX_BYTES_PER_CHARACTER <= walk.maxBytes) return false
  return Buffer.byteLength(JSON.stringify(result)) > walk.maxBytes
}

const tooDeep = () => new Refusal(`nested deeper than ${walk.maxDepth} levels${walk.strict ? '' : ', or circular'}`)

const notUnicode = () => new Refusal('a string contains a lone surrogate, which is not valid Unicode')

const tooManyEntries = (what: string) => new Refusal(`${what} has more than ${LIMITS.paramsEntries} entries`)

const invalid = (problem: string) => new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)

/** The tool has already run: a write may have happened. */
const HAS_RUN = { outcome: 'unknown' } as const

const unusable = (problem: string) =>
  new ToolExecutionError('EXECUTION_ERROR', `The tool returned a value that is not JSON: ${problem}`, HAS_RUN)

const oversized = (maxBytes: number) =>
  new ToolExecutionError(
    'RESULT_TOO_LARGE',
    `The result is larger than ${maxBytes} bytes: ask for less, or raise max_result_bytes`,
    HAS_RUN,
  )

function noObject(value: unknown): string {
  const problem = typeof value === 'string' ? jsonProblem(value) : undefined
  if (problem !== undefined) return `the parameters are not valid JSON: ${problem}. Send one JSON object`
  const what = value === null ? 'null' : value === undefined ? 'nothing' : `a ${typeof value}`
  return `parameters must be one JSON object, not ${Array.isArray(value) ? 'an array' : what}`
}
