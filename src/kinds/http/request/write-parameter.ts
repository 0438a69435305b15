import type { EncodeText } from './encode-text.ts'
import type { PlacedParameter } from './placed-parameters.ts'
import { refusedParameter } from './refused-parameter.ts'

/** A parameter with all that is needed to write it. */
export interface WritableParameter extends PlacedParameter {
  /** Its name, encoded for its place. */
  readonly key: string
  readonly encode: EncodeText
  /** What stands between two pairs. */
  readonly between: string
}

type Written = string | undefined

/** A value of a list or an object: a text as it is, null not at all, anything else as JSON. */
function plain(value: unknown): Written {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** One or several pairs for a query, a form or a cookie; undefined where there is nothing to say. */
export function writePairs(value: unknown, to: WritableParameter): Written {
  if (typeof value !== 'object' || value === null) return pair(to, value)
  if (to.style === 'deepObject') return joined(deepPairs(value, to.key, to), to.between)
  if (to.style === undefined && !Array.isArray(value)) return pair(to, value)
  if (to.explode) {
    const pairs = Array.isArray(value) ? value.map((item) => pair(to, item)) : keyPairs(value, to)
    return joined(pairs, to.between)
  }
  const text = joined(flat(value, to), DELIMITERS[to.style ?? 'form'])
  return text === undefined ? undefined : `${to.key}=${text}`
}

/** What is put in the place of a `{template}`. */
export function writePath(value: unknown, to: WritableParameter): Written {
  if (to.style === 'label') return prefixed('.', simple(value, to, to.explode ? '.' : ','))
  if (to.style !== 'matrix') return simple(value, to, ',')
  if (!to.explode || typeof value !== 'object' || value === null) {
    return prefixed(`;${to.key}=`, simple(value, { ...to, explode: false }, ','))
  }
  const pairs = Array.isArray(value) ? value.map((item) => pair(to, item)) : entries(value, to, '=')
  return prefixed(';', joined(pairs, ';'))
}

/** The value of a header. What a list is cut at may not stand in its items: nothing else could be told from it. */
export function writeHeader(value: unknown, to: WritableParameter): Written {
  if (typeof value === 'object' && value !== null) refuseDelimiter(value, to, ',')
  return simple(value, to, ',')
}

const DELIMITERS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' }

function simple(value: unknown, to: WritableParameter, delimiter: string): Written {
  if (typeof value !== 'object' || value === null) {
    const text = plain(value)
    return text === undefined ? undefined : to.encode(text, to.parameter)
  }
  return joined(to.explode && !Array.isArray(value) ? entries(value, to, '=') : flat(value, to), delimiter)
}

function pair(to: WritableParameter, value: unknown): Written {
  const text = plain(value)
  return text === undefined ? undefined : `${to.key}=${to.encode(text, to.parameter)}`
}

/** The items of a list; the keys and values of an object in turn. */
function flat(value: object, to: WritableParameter): Written[] {
  if (to.style === 'spaceDelimited') refuseDelimiter(value, to, ' ')
  if (to.style === 'pipeDelimited') refuseDelimiter(value, to, '|')
  if (!Array.isArray(value)) return entries(value, to, DELIMITERS[to.style ?? 'form'] ?? ',')
  return value.map((item) => {
    const text = plain(item)
    return text === undefined ? undefined : to.encode(text, to.parameter)
  })
}

function entries(value: object, to: WritableParameter, sign: string): Written[] {
  return Object.entries(value).map(([key, one]) => {
    const text = plain(one)
    return text === undefined ? undefined : to.encode(key, to.parameter) + sign + to.encode(text, to.parameter)
  })
}

/** Only keys that the schema names: any other would be a parameter that nobody has thought of. */
function keyPairs(value: object, to: WritableParameter): Written[] {
  return entries(Object.fromEntries(Object.entries(value).filter(([key]) => to.keys.has(key))), to, '=')
}

/** `a[b][c]=1`, the numbers of items standing in the brackets like keys. */
function deepPairs(value: object, key: string, to: WritableParameter): Written[] {
  return Object.entries(value).flatMap(([name, one]) => {
    const inner = `${key}%5B${to.encode(name, to.parameter)}%5D`
    return typeof one === 'object' && one !== null ? deepPairs(one, inner, to) : pair({ ...to, key: inner }, one)
  })
}

function refuseDelimiter(value: object, to: WritableParameter, delimiter: string): void {
  const texts = Array.isArray(value) ? value : Object.entries(value).flat()
  const bad = texts.find((one) => plain(one)?.includes(delimiter))
  if (bad !== undefined) {
    throw refusedParameter(
      to.parameter,
      bad,
      `must hold no item with '${delimiter}' in it, as that stands between items`,
    )
  }
}

const prefixed = (prefix: string, text: Written): Written => (text === undefined ? undefined : prefix + text)

function joined(texts: readonly Written[], delimiter: string | undefined): Written {
  const given = texts.filter((text) => text !== undefined)
  return given.length === 0 ? undefined : given.join(delimiter)
}
