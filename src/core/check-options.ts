import type { CallContext } from './call-context.ts'
import { suggest } from './suggest.ts'

const MAX_SHOWN = 80

/** Which numbers an option takes. NaN and infinite numbers are never in a range. */
export interface NumberRange {
  readonly integer?: boolean
  readonly min?: number
  /** The numbers above this one, instead of `min`. */
  readonly above?: number
  readonly max?: number
}

/** For counts, such as tokens and attempts. */
export const COUNT: NumberRange = { integer: true, min: 1 }
export const ABOVE_ZERO: NumberRange = { above: 0 }

type Names = Readonly<Record<string, unknown>>

/** Throws a TypeError for a misspelled option: `tenent` must not change who calls. */
export function checkKeys(method: string, options: object, known: Names): void {
  for (const key in options) {
    if (!Object.hasOwn(known, key)) throw unknownOption(method, key, known)
  }
}

export const unknownOption = (method: string, key: string, known: Names): TypeError =>
  new TypeError(`${method}: unknown option "${key}". ${nearest(key, Object.keys(known))}`)

/** What to write instead of an unknown name. */
export function nearest(name: string, known: readonly string[]): string {
  const [near] = suggest(name, known)
  return near === undefined ? `Known options are ${known.join(', ')}` : `Did you mean "${near}"?`
}

/** Throws a TypeError unless the option is a plain object with these keys only. */
export function checkNested(method: string, name: string, value: unknown, known: Names): void {
  if (!isRecord(value)) throw wrongType(method, name, `an object with ${Object.keys(known).join(', ')}`, value)
  checkKeys(`${method}: ${name}`, value, known)
  refuseHidden(method, `${name}.`, value)
}

/** A copy leaves such a key out, and with it the limit. */
function refuseHidden(method: string, place: string, value: object): void {
  const hidden = hiddenKey(value)
  if (hidden === undefined) return
  throw new TypeError(`${method}: ${place}${hidden} is not enumerable: write it as {${hidden}: …}`)
}

/** The first key of an object that isn't enumerable, if any. */
export function hiddenKey(value: object): string | undefined {
  const names = Object.getOwnPropertyNames(value)
  return names.length === Object.keys(value).length
    ? undefined
    : names.find((key) => !Object.prototype.propertyIsEnumerable.call(value, key))
}

/**
 * Whether a value is an object as `{}` makes it, also in another realm. Other objects have names that `Object.keys` doesn't
 * list: a Map, or an instance of a class with getters.
 */
export function isRecord(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, 'isPrototypeOf'))
  )
}

/** Throws a TypeError if the option isn't a number, and a RangeError if it is outside its range. */
export function checkNumber(method: string, name: string, value: unknown, range: NumberRange): void {
  const problem = numberProblem(value, range)
  if (problem === undefined) return
  const message = `${method}: ${name} ${problem}`
  throw typeof value === 'number' ? new RangeError(message) : new TypeError(message)
}

/** What is wrong with a number: `must be an integer from 1 to 100, not NaN`. */
export function numberProblem(value: unknown, range: NumberRange): string | undefined {
  const { integer = false, min, above, max = Number.POSITIVE_INFINITY } = range
  const isNumber = integer ? Number.isSafeInteger(value) : Number.isFinite(value)
  const number = value as number
  const isInRange = isNumber && number <= max && (above === undefined ? number >= (min ?? -max) : number > above)
  return isInRange ? undefined : `must be ${rangeInWords(range)}, not ${described(value)}`
}

function rangeInWords({ integer, min, above, max }: NumberRange): string {
  const what = integer ? 'an integer' : 'a number'
  if (above !== undefined) return `${what} above ${above}${max === undefined ? '' : `, at most ${max}`}`
  if (max !== undefined) return min === undefined ? `${what} of at most ${max}` : `${what} from ${min} to ${max}`
  return min === undefined ? `a finite ${integer ? 'integer' : 'number'}` : `${what} of ${min} or more`
}

/** The error for an option of a wrong type. */
export const wrongType = (method: string, name: string, wanted: string, value: unknown): TypeError =>
  new TypeError(`${method}: ${name} must be ${wanted}, not ${described(value)}`)

/** A value in an error. Objects may be large or hold secrets. */
export function described(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  return isRecord(value) ? 'an object' : 'an object that inherits'
}

/** Throws a TypeError or RangeError if an option has not the type or range that it takes. */
export type Check = (method: string, name: string, value: unknown) => void
/** What each option takes. */
export type Checks<Options> = Readonly<Record<keyof Options, Check>>

/** Throws for options that aren't a plain object, that are unknown, or of a wrong type. One that is undefined has its default. */
export function checkAll(method: string, options: object, checks: Readonly<Record<string, Check>>): void {
  if (!isRecord(options)) throw wrongType(method, 'options', 'an object', options)
  // Calls have options: counting is faster than looking for hidden keys.
  const known = checkValues(method, options, checks)
  if (Object.getOwnPropertyNames(options).length !== known) refuseHidden(method, '', options)
}

function checkValues(method: string, options: object, checks: Readonly<Record<string, Check>>, place = ''): number {
  let count = 0
  for (const key in options) {
    count++
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined
    if (check === undefined) throw unknownOption(method, key, checks)
    const value = (options as Readonly<Record<string, unknown>>)[key]
    if (value !== undefined) check(method, `${place}${key}`, value)
  }
  return count
}

export const must =
  (wanted: string, fits: (value: unknown) => boolean): Check =>
  (method, name, value) => {
    if (!fits(value)) throw wrongType(method, name, wanted, value)
  }

export const number =
  (range: NumberRange): Check =>
  (method, name, value) =>
    checkNumber(method, name, value, range)

export const nested =
  (checks: Readonly<Record<string, Check>>): Check =>
  (method, name, value) => {
    checkNested(method, name, value, checks)
    checkValues(method, value as object, checks, `${name}.`)
  }

/** An object with these functions, whatever else it is. */
export const methods = (...names: string[]): Check => {
  const fits = (value: unknown) => names.every((name) => typeof Object(value)[name] === 'function')
  const calls = names.map((name) => `${name}()`).join(', ')
  return must(`an object with ${calls.replace(/, (?=[^,]*$)/, ' and ')}`, fits)
}

/** `every` skips the holes of a sparse array. */
export const listOf = (fits: (one: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && Array.from(value).every(fits)

export const isTextList = listOf((one) => typeof one === 'string' && one.trim() !== '')

/** For what is checked elsewhere. */
export const anything: Check = () => {}
export const string = must('a string', (value) => typeof value === 'string')
export const nonEmpty = must('a string that is not empty', (value) => typeof value === 'string' && value !== '')
export const boolean = must('true or false', (value) => typeof value === 'boolean')
export const callable = must('a function', (value) => typeof value === 'function')
export const stringList = must('an array of names', isTextList)
export const plainObject = must('an object', isRecord)
export const clock = methods('now', 'wall', 'after')
export const logger = methods('debug', 'info', 'warn', 'error')
export const sinkList = must(
  'an array of objects with write(batch)',
  listOf((one) => typeof Object(one).write === 'function'),
)

type Problem = (value: unknown) => string | undefined

function withFunctions(wanted: string, ...names: string[]): Problem {
  return (value) => {
    const holder = value as Readonly<Record<string, unknown>>
    return names.every((name) => typeof holder[name] === 'function') ? undefined : `must be ${wanted}`
  }
}

const TYPES = {
  ...{ tenant: 'string', caller: 'string', oneCaller: 'boolean', keyId: 'string', user: 'string', session: 'string' },
  ...{ tools: 'object', models: 'object', rates: 'object', flags: 'object', source: 'string', runId: 'string' },
  ...{ callId: 'string', continued: 'boolean', model: 'string', onRate: 'function', stores: 'boolean' },
  ...{ approvalId: 'string', asksWrites: 'boolean', repeats: 'boolean', report: 'function' },
  // In `SHAPES`.
  ...{ versions: 'shape', visible: 'shape', once: 'shape', client: 'shape', allowance: 'shape', parent: 'shape' },
  // What reads them checks them.
  ...{ app: undefined, idempotencyKey: undefined, signal: undefined, timeoutMs: undefined, traceparent: undefined },
} as const satisfies Readonly<Record<keyof CallContext, string | undefined>>

/** Apart, because the types of the others are faster to compare. */
const SHAPES: ReadonlyMap<string, Problem> = new Map<keyof CallContext, Problem>([
  ['versions', withFunctions('a Map', 'get')],
  ['visible', withFunctions('a Set of names', 'has')],
  ['once', withFunctions('a store of idempotency keys', 'claim', 'look', 'settle', 'release')],
  ['client', withFunctions('a client with ask()', 'ask')],
  ['allowance', withFunctions('an object with left(), hold() and charge()', 'left', 'hold', 'charge')],
  ['parent', parentProblem],
])

const CONTEXT: ReadonlyMap<string, string | undefined> = new Map(Object.entries(TYPES))

/** On contexts whose options were checked where a program gave them. Copies have it, too. */
const CHECKED = Symbol('The context has been checked')

/** Internal: a context that needs no check. */
export const checkedContext = (context: CallContext): CallContext => ({ ...context, [CHECKED]: true }) as CallContext

/** What is wrong with the context of a call: a misspelled key, or a limit that would never hold. */
export function contextProblem(context: CallContext & { readonly [CHECKED]?: true }): string | undefined {
  if (context[CHECKED] === true) return undefined
  if (typeof context !== 'object') return ` must be an object, not ${described(context)}`
  let isEmpty = true
  // A call takes a microsecond: maps are faster here than objects.
  for (const key in context) {
    isEmpty = false
    const type = CONTEXT.get(key)
    if (type === undefined && !CONTEXT.has(key)) return `: unknown key "${key}". ${nearest(key, [...CONTEXT.keys()])}`
    const value: unknown = context[key as keyof CallContext]
    if (type === undefined || value === undefined || (typeof value === type && value !== null)) continue
    const isObject = type === 'object' || type === 'shape'
    const mismatch = `must be ${isObject ? 'an object' : `a ${type}`}`
    const problem =
      type === 'shape' && typeof value === 'object' && value !== null ? SHAPES.get(key)?.(value) : mismatch
    if (problem !== undefined) return `: ${key} ${problem}, not ${described(value)}`
  }
  // A Map, a date or an empty list has nothing to list.
  if (isEmpty && context.constructor !== Object && Object.prototype.toString.call(context) !== '[object Object]') {
    return ` must be an object, not ${described(context)}`
  }
  const { flags, tools, models, rates } = context
  // What reads a flag checks its value.
  if (flags !== undefined && Object.getPrototypeOf(flags) !== Object.prototype && !isRecord(flags)) {
    return `: flags must be an object whose values are true or false, not ${described(flags)}`
  }
  if (tools === undefined && models === undefined && rates === undefined) return undefined
  return listProblem('tools', tools) ?? listProblem('models', models) ?? rateProblem(rates)
}

function parentProblem(parent: unknown): string | undefined {
  const { id, deadline, path } = parent as Readonly<Record<string, unknown>>
  const fits = typeof id === 'string' && typeof deadline === 'number' && !Number.isNaN(deadline) && Array.isArray(path)
  return fits ? undefined : 'must be a call with id, deadline and path'
}

function listProblem(name: string, value: unknown): string | undefined {
  const fits =
    value === undefined || (Array.isArray(value) && Array.from(value).every((one) => typeof one === 'string'))
  return fits ? undefined : `: ${name} must be a list of patterns, not ${described(value)}`
}

function rateProblem(rates: unknown = []): string | undefined {
  if (!Array.isArray(rates)) return `: rates must be a list, not ${described(rates)}`
  for (const [at, rate] of rates.entries()) {
    const { calls, perMs, key, description } = Object(rate)
    const [ofCalls, ofTime] = [numberProblem(calls, COUNT), numberProblem(perMs, ABOVE_ZERO)]
    if (ofCalls !== undefined) return `: rates[${at}].calls ${ofCalls}`
    if (ofTime !== undefined) return `: rates[${at}].perMs ${ofTime}`
    if (typeof key !== 'string') return `: rates[${at}].key must be a string, not ${described(key)}`
    if (typeof description !== 'string') {
      return `: rates[${at}].description must be a string, not ${described(description)}`
    }
  }
  return undefined
}
