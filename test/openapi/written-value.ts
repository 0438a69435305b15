import type { StatedParameter } from './stated-request.ts'

/** What a server reads under a name: texts, each of them encoded by itself, with a delimiter in between. */
export interface WrittenPair {
  readonly name: string
  readonly texts: readonly string[]
  readonly cut?: RegExp
}

type Style = Pick<StatedParameter, 'name' | 'style' | 'explode'>

const CUTS: Readonly<Record<string, RegExp>> = { form: /,/, spaceDelimited: /%20|\+| /, pipeDelimited: /%7C|\|/i }

/** The pairs of a query, a form or a cookie that stand for a value, as OpenAPI has its styles. */
export function writtenPairs({ name, style, explode }: Style, value: unknown): WrittenPair[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') return [{ name, texts: [String(value)] }]
  if (style === 'deepObject') return deepPairs(name, value)
  if (explode && Array.isArray(value)) return value.flatMap((item) => scalarPair(name, item))
  if (explode) return Object.entries(value).flatMap(([key, one]) => scalarPair(key, one))
  return [{ name, texts: flat(value), cut: CUTS[style] ?? /,/ }]
}

/** What stands in a path or in a header for a value, decoded. */
export function writtenText({ name, style, explode }: Style, value: unknown): string {
  const isList = typeof value === 'object' && value !== null
  const pairs = isList && !Array.isArray(value) && explode
  const texts = !isList
    ? [scalar(value)]
    : pairs
      ? Object.entries(value).map(([key, one]) => `${key}=${scalar(one)}`)
      : flat(value)
  if (style === 'label') return `.${texts.join(explode ? '.' : ',')}`
  if (style !== 'matrix') return texts.join(',')
  if (!isList || !explode) return `;${name}=${texts.join(',')}`
  return texts.map((text) => (pairs ? `;${text}` : `;${name}=${text}`)).join('')
}

const scalar = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

const scalarPair = (name: string, value: unknown): WrittenPair[] =>
  value === null ? [] : [{ name, texts: [scalar(value)] }]

function flat(value: object): string[] {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(scalar)
  return Object.entries(value).flatMap(([key, one]) => (one === null ? [] : [key, scalar(one)]))
}

function deepPairs(name: string, value: object): WrittenPair[] {
  return Object.entries(value).flatMap(([key, one]): WrittenPair[] => {
    const inner = `${name}[${key}]`
    return typeof one === 'object' && one !== null ? deepPairs(inner, one) : scalarPair(inner, one)
  })
}
