import { auditColumns, COLUMN_TYPES } from '../../core/records/audit-columns.ts'
import type { CallEntry } from '../../core/storage/ledger.ts'
import { compiled } from '../ledger/row-code.ts'

const fieldsOf = (isText: boolean) =>
  auditColumns.flatMap(({ type, field }) =>
    field !== undefined && (COLUMN_TYPES[type].postgres === 'text') === isText ? [field] : [],
  )

/** The fields that many calls have in common. */
const SHARED = ['tool', ...fieldsOf(true), 'hold', 'approval', 'nesting', 'code', 'unknown'] as (keyof CallEntry)[]
type Origin = Partial<CallEntry>

/** Numbers that may be unknown. Their type stands for any of them. */
const NUMBERS = fieldsOf(false) as 'cost'[]

/**
 * Calls as they are sent to another thread. Every object and every string costs both threads, so common fields are
 * sent once, and the rest as one array of numbers and one string.
 */
export interface PackedCalls {
  readonly origins: readonly Origin[]
  /** `WIDTH` for each call: its origin, when it began, how long it took, attempts, the length of its parameters, `NUMBERS`. */
  readonly numbers: Float64Array
  readonly params: string
  /** Of each call; absent if none has one. */
  readonly payloads?: readonly CallEntry['payload'][]
}

const FIXED = 5
const WIDTH = FIXED + NUMBERS.length
/** The length of missing parameters. */
const NONE = -1
/** How many of the last origins are compared. */
const NEAR = 8

export function packCalls(calls: readonly CallEntry[]): PackedCalls {
  const origins: Origin[] = []
  const numbers = new Float64Array(calls.length * WIDTH)
  const params: string[] = []
  let place = 0
  for (const call of calls) {
    numbers[place] = originOf(call, origins)
    numbers[place + 1] = call.at
    numbers[place + 2] = call.durationMs
    numbers[place + 3] = call.attempts
    if (call.params === null) numbers[place + 4] = NONE
    else {
      numbers[place + 4] = call.params.length
      params.push(call.params)
    }
    for (let index = 0; index < NUMBERS.length; index++) {
      numbers[place + FIXED + index] = call[NUMBERS[index] as 'cost'] ?? Number.NaN
    }
    place += WIDTH
  }
  const payloads = calls.some(({ payload }) => payload !== undefined) && calls.map(({ payload }) => payload)
  return { origins, numbers, params: params.join(''), ...(payloads && { payloads }) }
}

export function unpackCalls({ origins, numbers, params, payloads }: PackedCalls): CallEntry[] {
  const calls: CallEntry[] = []
  let read = 0
  for (let place = 0; place < numbers.length; place += WIDTH) {
    const length = numbers[place + 4] as number
    const text = length === NONE ? null : params.slice(read, read + length)
    if (text !== null) read += length
    const call = {
      ...(origins[numbers[place] as number] as CallEntry),
      at: numbers[place + 1] as number,
      durationMs: numbers[place + 2] as number,
      attempts: numbers[place + 3] as number,
      params: text,
      payload: payloads?.[calls.length],
    }
    for (let index = 0; index < NUMBERS.length; index++) {
      const value = numbers[place + FIXED + index] as number
      call[NUMBERS[index] as 'cost'] = Number.isNaN(value) ? undefined : value
    }
    calls.push(call)
  }
  return calls
}

const isAlike = compiled('call, origin', SHARED.map((field) => `call.${field} === origin.${field}`).join(' && ')) as (
  call: CallEntry,
  origin: Origin,
) => boolean

/** With the numbers, since adding properties to each unpacked call takes a microsecond. */
const makeOrigin = compiled(
  'call',
  `({ ${[...SHARED.map((field) => `${field}: call.${field}`), ...NUMBERS.map((field) => `${field}: undefined`)]} })`,
) as (call: CallEntry) => Origin

/** The index of the call's origin, which is added if none of the last ones is the same. */
function originOf(call: CallEntry, origins: Origin[]): number {
  const end = origins.length
  for (let index = end - 1; index >= 0 && index >= end - NEAR; index--) {
    if (isAlike(call, origins[index] as Origin)) return index
  }
  origins.push(makeOrigin(call))
  return end
}
