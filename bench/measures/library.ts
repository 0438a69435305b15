import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { createToolyard, type StandardSchema, tool } from '../../src/library/index.ts'
import { type Batch, batch, type Loop, warmUp } from '../batches.ts'
import { floorLoop } from '../floor.ts'
import { median } from '../statistics.ts'
import { DESCRIPTION, handler, NAME, PARAMS, SCHEMA, WEATHER, WRONG_PARAMS } from '../weather.ts'

const units = ['celsius', 'fahrenheit'] as const

/** The schema of the weather tool, as each library writes it. */
const SCHEMAS = {
  'JSON Schema': undefined,
  zod: () => z.object({ location: z.string(), units: z.enum(units).optional() }),
  valibot: () => toStandardJsonSchema(v.object({ location: v.string(), units: v.optional(v.picklist(units)) })),
  arktype: () => type({ location: 'string', 'units?': '"celsius" | "fahrenheit"' }),
} satisfies Record<string, (() => StandardSchema) | undefined>

export interface LibraryOptions {
  readonly library: keyof typeof SCHEMAS
  /** Through the executor instead of `yard.call`. */
  readonly executor?: boolean
  readonly turns: number
  readonly batchMs: number
  readonly warmMs: number
}

export interface LibraryResult {
  readonly callUs: number
  readonly floorUs: number
  /** What the library takes to validate the parameters itself; 0 for a JSON Schema. */
  readonly validateUs: number
  readonly ratio: number
  /** The ratio without the library's own validation. */
  readonly ratioWithout: number
}

/** One call of a typed tool, the floor, and the validation of the schema's library, in turns. */
export async function library(options: LibraryOptions): Promise<LibraryResult> {
  const schema: StandardSchema | undefined = SCHEMAS[options.library]?.()
  const weather = tool({ name: NAME, description: DESCRIPTION, input: schema ?? SCHEMA, execute: handler })
  const yard = await createToolyard({ tools: [weather] })
  const answer = JSON.stringify(await yard.call(NAME, PARAMS))
  if (!answer.includes(WEATHER.condition)) throw new Error(`The tool did not do its work; it answered ${answer}.`)
  if ((await yard.call(NAME, WRONG_PARAMS)).success) throw new Error('Wrong parameters were not refused.')
  const { executor } = yard
  const call: Loop = options.executor
    ? async (calls) => {
        for (let i = 0; i < calls; i++) await executor.execute(NAME, PARAMS)
      }
    : async (calls) => {
        for (let i = 0; i < calls; i++) await yard.call(NAME, PARAMS)
      }
  const loops: Loop[] = [floorLoop(handler), call]
  if (schema !== undefined) loops.push(validateLoop(schema))
  const calls: number[] = []
  for (const loop of loops) calls.push(await warmUp(loop, options.warmMs, options.batchMs))
  const rounds: Batch[][] = []
  for (let turn = 0; turn < options.turns; turn++) {
    const round: Batch[] = []
    // Each is first as often as the others: a slow moment must not hit always the same.
    for (let at = 0; at < loops.length; at++) {
      const one = (at + turn) % loops.length
      round[one] = await batch(loops[one] as Loop, calls[one] as number)
    }
    rounds.push(round)
  }
  await yard.close()
  const middle = (of: (floor: number, call: number, validate: number) => number): number =>
    median(rounds.map(([floor, one, validate]) => of(floor?.wallUs ?? 0, one?.wallUs ?? 0, validate?.wallUs ?? 0)))
  return {
    callUs: middle((_, one) => one),
    floorUs: middle((floor) => floor),
    validateUs: middle((_floor, _one, validate) => validate),
    ratio: middle((floor, one) => one / floor),
    ratioWithout: middle((floor, one, validate) => (one - validate) / floor),
  }
}

function validateLoop(schema: StandardSchema): Loop {
  const { validate } = schema['~standard']
  return async (calls) => {
    let failures = 0
    for (let i = 0; i < calls; i++) if ('issues' in validate(PARAMS) && failures++ > calls) break
  }
}
