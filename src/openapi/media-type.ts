/** How a tool writes a body of a type; 'binary' is what it cannot. */
export type BodyForm = 'json' | 'form' | 'text' | 'binary'

const TEXT =
  /^(?:text\/|application\/(?:xml|xhtml|javascript|ecmascript|graphql|sql|yaml|toml|x-(?:yaml|sh|ndjson|jsonlines|javascript|sql)|jsonl|jose|jwt|n-triples|n-quads|sparql-[a-z]+|ld-frame)\b)|[+](?:xml|yaml)$/
const WILD = /^(?:\*|application)\/\*$/

/** The type without parameters such as a charset. */
export const bareType = (mediaType: string): string => (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase()

/** How a body of a type is written. */
export function bodyForm(mediaType: string): BodyForm {
  const type = bareType(mediaType)
  if (isJson(type) || WILD.test(type)) return 'json'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  return TEXT.test(type) ? 'text' : 'binary'
}

/** Whether what has the type is JSON. */
export function isJson(mediaType: string): boolean {
  return /^(?:application|text)\/json$|^[\w.-]+\/[\w.+-]+[+]json$/.test(bareType(mediaType))
}

const RANKS: readonly ((type: string) => boolean)[] = [
  (type) => type === 'application/json',
  isJson,
  (type) => bodyForm(type) === 'form',
  (type) => WILD.test(type),
  (type) => bodyForm(type) === 'text',
]

/** The one of several types that serves a tool best; undefined where none does. */
export function bestType<T extends { readonly mediaType: string }>(types: readonly T[]): T | undefined {
  for (const isOne of RANKS) {
    const found = types.find(({ mediaType }) => isOne(bareType(mediaType)))
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether a type can be written into a header as it is. */
export const isPlainType = (mediaType: string): boolean =>
  /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;[ -~]{0,200})?$/.test(mediaType) && !mediaType.includes('${')
