import { isObject } from '../../src/core/schema/schema-keywords.ts'
import type { Params, ToolDefinition } from '../../src/core/tool.ts'
import { type AcceptedCall, acceptedValues, plainName } from '../../src/validation/bfcl/bfcl-function.ts'
import type { BfclCase } from '../../src/validation/bfcl/load-bfcl.ts'
import type { ObservedCall, ObservedTurn } from '../../src/validation/suites/suite.ts'

/** What a perfect model does: in each turn every accepted call, each with the first values that are accepted. */
export function perfectTurns({ accepted, tools }: BfclCase): ObservedTurn[] {
  return accepted.map((calls) => ({
    calls: calls.map((call): ObservedCall => {
      const tool = plainName(call.name)
      const { parameters } = tools.find(({ name }) => name === tool) as ToolDefinition
      return { tool, params: perfectParams(call, parameters as unknown as Schema) }
    }),
    answer: '',
  }))
}

interface Schema {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
}

/** Two answers accept parameters that their functions do not have. */
function perfectParams({ params }: AcceptedCall, { properties, required = [] }: Schema): Params {
  const chosen = Object.entries(params).flatMap(([name, values]): [string, unknown][] => {
    if (!Object.hasOwn(properties, name)) return []
    const [first] = values
    if (first !== '') return [[name, perfectValue(first)]]
    const other = values.find((value) => value !== '')
    return required.includes(name) ? [[name, perfectValue(other ?? '')]] : []
  })
  return Object.fromEntries(chosen)
}

/** Entries of an object have lists of accepted values of their own. */
function perfectValue(accepted: unknown): unknown {
  if (Array.isArray(accepted)) return accepted.map((item) => (isObject(item) ? perfectValue(item) : item))
  if (!isObject(accepted)) return accepted
  return Object.fromEntries(
    Object.entries(accepted).flatMap(([key, values]): [string, unknown][] => {
      const [first] = acceptedValues(values)
      return first === '' ? [] : [[key, first]]
    }),
  )
}
