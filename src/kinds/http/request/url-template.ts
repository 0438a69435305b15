import { redactText } from '../../../core/records/redact.ts'
import { unfitImplementation } from './request-errors.ts'

/** A query pair whose value is a parameter: `?q={text}`. */
interface QueryTemplate {
  readonly name: string
  readonly template: string
}

export interface UrlTemplate {
  readonly url: URL
  /** The encoded path, split at its templates: one text more than there are templates. */
  readonly texts: readonly string[]
  readonly templates: readonly string[]
  /** The fixed query pairs, encoded. */
  readonly pairs: readonly string[]
  readonly queryTemplates: readonly QueryTemplate[]
}

const TEMPLATE = /\{([^{}]*)\}/g
const BEFORE_PATH = /^[^/?#]*(?:\/\/[^/?#]*)?/
const ADDRESS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i
const EXAMPLE = 'like https://api.example.com/users/{id}'

/**
 * Parses a URL whose variables are replaced. Error messages quote `written`, the URL in the definition, because values
 * of variables may be secret.
 */
export function urlTemplate(text: string, written: string, key = 'implementation.url'): UrlTemplate {
  const shown = `${key} '${redactText(written.split('?', 1)[0] ?? '', 200)}'`
  const fixed = BEFORE_PATH.exec(text)?.[0] ?? ''
  if (fixed.includes('@')) throw unfitImplementation(`${key} contains a user name or a password: write them into auth`)
  if (/[{}]/.test(fixed)) {
    throw unfitImplementation(`${shown} has a {parameter} before its path: write scheme, host and port literally`)
  }
  const [, scheme, host] = ADDRESS.exec(text) ?? []
  if (scheme === undefined || host === undefined) {
    throw unfitImplementation(`${shown} is not a complete URL: write it ${EXAMPLE}`)
  }
  if (!/^https?$/i.test(scheme)) throw unfitImplementation(`${shown} must begin with http:// or https://`)
  if (/[\s\\]/.test(text)) throw unfitImplementation(`${shown} contains a space or a backslash: encode or remove it`)
  if (text.includes('#')) throw unfitImplementation(`${shown} has a fragment (#), which is never sent: remove it`)
  if (/\$\{[^{}]*\}/.test(text)) {
    throw unfitImplementation(`${shown} has a \${…} that is not a variable: use letters, digits and _ only`)
  }
  if (/[{}]/.test(text.replaceAll(TEMPLATE, ''))) {
    throw unfitImplementation(`${shown} has an unbalanced { or }: write {parameter}, or %7B and %7D`)
  }
  return cut(text, shown)
}

/** Replaces each template with a marker word, so that the URL parser leaves it alone. */
function cut(text: string, shown: string): UrlTemplate {
  const url = URL.parse(text)
  let mark = 'x'
  while (text.includes(mark)) mark += 'x'
  const names: string[] = []
  const marked = URL.parse(text.replaceAll(TEMPLATE, (_, name: string) => `${mark}${names.push(name) - 1}${mark}`))
  if (url === null || marked === null) throw unfitImplementation(`${shown} is not a complete URL: write it ${EXAMPLE}`)

  const place = new RegExp(`${mark}(\\d+)${mark}`)
  const nameAt = (index: string | undefined): string => names[Number(index)] ?? ''
  const path = marked.pathname.split(place)
  const [pairs, queryTemplates]: [string[], QueryTemplate[]] = [[], []]
  for (const pair of marked.search.slice(1).split('&')) {
    const [name = '', index, ...more] = pair.split(place)
    if (index === undefined) {
      if (pair !== '') pairs.push(pair)
    } else if (more.join('') !== '' || !/^[^=]+=$/.test(name)) {
      throw unfitImplementation(
        `${shown} has {${nameAt(index)}} in its query next to other text: write name={parameter} only`,
      )
    } else queryTemplates.push({ name: decoded(name.slice(0, -1)), template: nameAt(index) })
  }
  const templates = path.filter((_, at) => at % 2 === 1).map(nameAt)
  if (templates.length + queryTemplates.length < names.length) {
    throw unfitImplementation(`${shown} has a {parameter} that a following /../ removes: write the path without it`)
  }
  return { url, texts: path.filter((_, at) => at % 2 === 0), templates, pairs, queryTemplates }
}

/** The decoded name of a query pair. */
export function decoded(name: string): string {
  return new URLSearchParams(`${name}=`).keys().next().value ?? ''
}
