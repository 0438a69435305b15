import { splitLiterals, unquoted } from './split-literals.ts'

const INTEGER = /^-?\d+$/
const FLOAT = /^-?\d+(?:\.\d+)?$/
const BIGINT = /^-?\d+n$/
const ARRAY = /^(?:\[(?<items>.*)\]|new\s+Array\((?<given>.*)\))$/s
const OBJECT = /^\{(?<entries>.*)\}$/s

/** Reads a text as a literal of a type of JavaScript; the text itself where it is none. */
export function javascriptValue(written: string, type: string, items?: string): unknown {
  const text = written.trim()
  switch (type) {
    case 'String':
      return unquoted(text) ?? written
    case 'integer':
      return INTEGER.test(text) ? Number(text) : written
    case 'float':
      return FLOAT.test(text) ? Number(text) : written
    case 'Bigint':
      return BIGINT.test(text) ? Number(text.slice(0, -1)) : written
    case 'Boolean':
      return text === 'true' ? true : text === 'false' ? false : written
    case 'array':
      return listOf(text, items) ?? written
    case 'dict':
      return objectOf(text) ?? written
    default:
      return written
  }
}

function listOf(text: string, items?: string): unknown[] | undefined {
  const groups = ARRAY.exec(text)?.groups
  const listed = groups?.items ?? groups?.given
  if (listed === undefined) return undefined
  const read = (one: string) =>
    items === undefined || items === 'any' || /^[[{]/.test(one) ? looseValue(one) : javascriptValue(one, items)
  return splitLiterals(listed).map(read)
}

function objectOf(text: string): Record<string, unknown> | undefined {
  const entries = OBJECT.exec(text)?.groups?.entries
  if (entries === undefined) return undefined
  const pairs = splitLiterals(entries).map((entry) => {
    const [key = ''] = splitLiterals(entry, ':')
    return [unquoted(key) ?? key, looseValue(entry.slice(entry.indexOf(':', key.length) + 1).trim())] as const
  })
  return Object.fromEntries(pairs)
}

/** A value whose type nobody says. */
function looseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (FLOAT.test(text)) return Number(text)
  return unquoted(text) ?? listOf(text) ?? objectOf(text) ?? text
}
