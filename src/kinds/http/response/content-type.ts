/** What can be made of a body, by what it was said to be. */
export type Content = 'json' | 'text' | 'undeclared' | 'other'

export interface ContentType {
  readonly content: Content
  /** Fit to be shown, whatever stood in the header. */
  readonly name: string
  readonly charset?: string
}

const JSON_TYPE = /^(?:application|text)\/json$|\+json$/
/** Lines of JSON, or events: each piece may be JSON, the whole is not. */
const TEXT_TYPE =
  /^text\/|\+(?:xml|yaml)$|^application\/(?:xml|yaml|x-yaml|toml|javascript|graphql|sql|x-www-form-urlencoded|x-ndjson|ndjson|jsonl|x-jsonlines|json-seq)$/
const NAME = /^\s*([\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60})\s*(?:;|,|$)/
const CHARSET = /;\s*charset\s*=\s*"?([^";,\s]+)/i

const JSON_UTF8: ContentType = { content: 'json', name: 'application/json' }
const UNDECLARED: ContentType = { content: 'undeclared', name: 'an unnamed type' }
/** What nearly every answer says. */
const USUAL: ReadonlySet<string> = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json;charset=UTF-8',
])

/** Reads a `content-type`. One that says nothing, or only that it is bytes, is as good as none. */
export function contentTypeOf(header: string | undefined): ContentType {
  if (header === undefined) return UNDECLARED
  if (USUAL.has(header)) return JSON_UTF8
  const name = NAME.exec(header)?.[1]?.toLowerCase()
  if (name === undefined || name === 'application/octet-stream') return UNDECLARED
  const charset = CHARSET.exec(header)?.[1]?.toLowerCase()
  return { content: contentOf(name), name, ...(charset !== undefined && { charset }) }
}

function contentOf(name: string): Content {
  if (JSON_TYPE.test(name)) return 'json'
  return TEXT_TYPE.test(name) ? 'text' : 'other'
}
