import type { JsonSchema } from '../../src/core/tool.ts'
import { makeValue, merged } from './make-value.ts'

type Params = Record<string, unknown>

/** What a text may hold that can hold anything: all that has a meaning where it goes. */
const TEXTS: Readonly<Record<string, string>> = {
  path: 'p ä/%41?#&=',
  query: 'q ä&=+#%41,|',
  header: 'h plain; x="y" ',
  cookie: 'c ä;=,',
  body: 'b "ä"\n&=+%41{}',
}
/** The first attempts have half of what may be left out, the others nothing of it. */
const WITH_OPTIONAL = 4
const ATTEMPTS = 10

/**
 * Parameters that a tool takes: what it requires and half of the rest. `placeOf` says where each goes; `problems` is the
 * judge. Undefined where none were found.
 */
export async function makeParams(
  schema: JsonSchema,
  placeOf: (name: string) => string,
  problems: (params: Params) => Promise<readonly string[]>,
): Promise<Params | undefined> {
  const properties = Object.entries((schema.properties ?? {}) as Params)
  const dropped = new Set<string>()
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const required = new Set((merged(schema, { root: schema, attempt, text: '' }, 0).required ?? []) as string[])
    const isWanted = (name: string, index: number): boolean =>
      required.has(name) || (attempt < WITH_OPTIONAL && (index + attempt) % 2 === 0 && !dropped.has(name))
    const params = Object.fromEntries(
      properties
        .filter(([name], index) => isWanted(name, index))
        .map(([name, own], index) => {
          const text = `${TEXTS[placeOf(name)] ?? 'text'}${index}`
          return [name, makeValue(own, { root: schema, attempt, text })] as const
        })
        // Nothing is sent of these but in a body.
        .filter(([name, value]) => placeOf(name) === 'body' || !isEmpty(value)),
    )
    const found = await problems(params)
    if (found.length === 0) return params
    for (const name of Object.keys(params)) if (found.some((one) => one.includes(name))) dropped.add(name)
  }
  return undefined
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0)
