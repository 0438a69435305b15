import { Unmappable } from './openapi-error.ts'
import { quoted } from './raw.ts'

/** A path with its parameters, and what the document has put behind it. */
export interface PathTemplate {
  /** As it stands in a URL, with `{name}` for each parameter. */
  readonly path: string
  /** The parameters in it, in order. */
  readonly names: readonly string[]
  /** What is always sent in the query. */
  readonly query: Readonly<Record<string, string>>
}

const PARAMETER = /\{([^{}]*)\}/g

/** Reads a path of the document. `declared` are the names of its path parameters. Throws `Unmappable`. */
export function pathTemplate(written: string, declared: ReadonlySet<string>): PathTemplate {
  // What comes after a # tells operations apart that have the same address.
  const [address = ''] = written.split('#', 1)
  const [path = '', query = ''] = address.split(/\?(.*)/s)
  if (written.includes('${')) throw new Unmappable('its path has "${", which stands for a variable of the environment')
  if (query.includes('{')) throw new Unmappable('it has parameters in a query that is part of its path')
  const names = new Set<string>()
  const parts = path.split(PARAMETER).map((part, at) => {
    if (at % 2 === 0) return encoded(part)
    const name = declared.has(part) ? part : plainName(part, declared)
    if (name === '') throw new Unmappable(`its path has a parameter without a name: ${quoted(path)}`)
    names.add(name)
    return `{${name}}`
  })
  const template = parts.join('')
  if (template.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    throw new Unmappable('its path has a segment that means another folder')
  }
  return { path: template, names: [...names], query: Object.fromEntries(new URLSearchParams(query)) }
}

/** `{+name}` and `{name*}` are how RFC 6570 writes parameters that other documents know as `name`. */
function plainName(name: string, declared: ReadonlySet<string>): string {
  const plain = name.replace(/^[+#./;?&]|\*$/g, '')
  return declared.has(plain) ? plain : name
}

function encoded(text: string): string {
  if (/[{}]/.test(text)) throw new Unmappable('its path has a brace that belongs to no parameter')
  return text
    .toWellFormed()
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/[^\p{ASCII}]+|[\s"<>\\^`|]/gu, encodeURIComponent)
    .replace(/\p{C}/gu, encodeURIComponent)
}
