import type { CallEntry } from '../../core/storage/ledger.ts'

const SHARED = [
  ...(['tool', 'tenant', 'caller', 'source', 'runId', 'model', 'schemaHash', 'version', 'keyId', 'hold'] as const),
  ...(['approval', 'nesting', 'code', 'unknown'] as const),
] as const

/** The fields that many calls have in common. */
type Origin = Pick<CallEntry, (typeof SHARED)[number]>

/**
 * Calls as they are sent to another thread. Every object and every string costs both threads, so common fields are
 * sent once, and the rest as one array of numbers and one string.
 */
export interface PackedCalls {
  readonly origins: readonly Origin[]
  /** `WIDTH` for each call: its origin, when it began, how long it took, attempts, the length of its parameters, its cost. */
  readonly numbers: Float64Array
  readonly params: string
  /** Of each call; absent if none has one. */
  readonly payloads?: readonly CallEntry['payload'][]
}

const WIDTH = 6
/** The length of missing parameters, and an unknown cost. */
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
    numbers[place + 5] = call.cost ?? NONE
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
    calls.push({
      ...(origins[numbers[place] as number] as Origin),
      at: numbers[place + 1] as number,
      durationMs: numbers[place + 2] as number,
      attempts: numbers[place + 3] as number,
      cost: numbers[place + 5] === NONE ? undefined : numbers[place + 5],
      params: text,
      payload: payloads?.[calls.length],
    })
  }
  return calls
}

/** The index of the call's origin, which is added if none of the last ones is the same. */
function originOf(call: CallEntry, origins: Origin[]): number {
  const end = origins.length
  for (let index = end - 1; index >= 0 && index >= end - NEAR; index--) {
    const origin = origins[index] as Origin
    if (SHARED.every((field) => call[field] === origin[field])) return index
  }
  origins.push(Object.fromEntries(SHARED.map((field) => [field, call[field]])) as Origin)
  return end
}
