import { splitLiterals, unquoted } from './split-literals.ts'

const INTEGER = /^-?\d+$/
const LONG = /^-?\d+[lL]$/
const DOUBLE = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const FLOAT = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[fF]$/

const ARRAY = /^new\s+\w+\s*\[\]\s*\{(?<items>.*)\}$/s
const LIST_OF = /^new\s+ArrayList<\w*>\s*\(\s*Arrays\.asList\((?<items>.*)\)\s*\)$/s
const EMPTY_LIST = /^new\s+ArrayList<\w*>\s*\(\s*\)$/
const LIST_WITH = /^new\s+ArrayList<\w*>\s*\(\s*\)\s*\{\s*\{(?<body>.*)\}\s*\}$/s
const EMPTY_MAP = /^new\s+HashMap<[^>]*>\s*\(\s*\)(?:\s*\{\s*\})?$/
const MAP_WITH = /^new\s+HashMap<[^>]*>\s*\(\s*\)\s*\{\s*\{(?<body>.*)\}\s*\}$/s
const STATEMENT = /^(?<method>add|put)\s*\((?<inside>.*)\)$/s

/** Reads a text as a literal of a type of Java; the text itself where it is none. */
export function javaValue(written: string, type: string, items?: string): unknown {
  const text = written.trim()
  switch (type) {
    case 'byte':
    case 'short':
    case 'integer':
      return INTEGER.test(text) ? Number(text) : written
    case 'long':
      return LONG.test(text) ? Number(text.slice(0, -1)) : written
    case 'float':
      return FLOAT.test(text) ? Number(text.slice(0, -1)) : written
    case 'double':
      return DOUBLE.test(text) ? Number(text) : written
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : written
    case 'Array':
    case 'ArrayList':
      return listOf(text, items) ?? written
    case 'HashMap':
      return mapOf(text) ?? written
    default:
      return written
  }
}

function listOf(text: string, items: string | undefined): unknown[] | undefined {
  if (EMPTY_LIST.test(text)) return []
  const listed = (ARRAY.exec(text) ?? LIST_OF.exec(text))?.groups?.items
  if (listed !== undefined) return splitLiterals(listed).map((one) => itemOf(one, items))
  const body = LIST_WITH.exec(text)?.groups?.body
  return body === undefined ? undefined : statements(body, 'add')?.map(([one = '']) => itemOf(one, items))
}

function mapOf(text: string): Record<string, unknown> | undefined {
  if (EMPTY_MAP.test(text)) return {}
  const body = MAP_WITH.exec(text)?.groups?.body
  const puts = body === undefined ? undefined : statements(body, 'put')
  return puts && Object.fromEntries(puts.map(([key = '', value = '']) => [unquoted(key) ?? key, looseValue(value)]))
}

/** The arguments of statements such as `add(1); add(2);`; undefined where there are others. */
function statements(body: string, method: string): string[][] | undefined {
  const found = splitLiterals(body, ';').map((one) => STATEMENT.exec(one)?.groups)
  if (found.some((groups) => groups?.method !== method)) return undefined
  return found.map((groups) => splitLiterals(groups?.inside ?? ''))
}

const itemOf = (text: string, type: string | undefined): unknown =>
  type === undefined || type === 'any' ? looseValue(text) : (unquoted(text) ?? javaValue(text, type))

/** A value whose type nobody says. */
function looseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (LONG.test(text) || FLOAT.test(text)) return Number(text.slice(0, -1))
  return DOUBLE.test(text) ? Number(text) : (unquoted(text) ?? text)
}
