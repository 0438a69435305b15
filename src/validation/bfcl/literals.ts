const INTEGER = /^-?\d+$/
const JAVA_LONG = /^-?\d+[lL]$/
const JAVA_DOUBLE = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const JAVA_FLOAT = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[fF]$/

const JAVA_ARRAY = /^new\s+\w+\s*\[\]\s*\{(?<items>.*)\}$/s
const JAVA_LIST_OF = /^new\s+ArrayList<\w*>\s*\(\s*Arrays\.asList\((?<items>.*)\)\s*\)$/s
const JAVA_EMPTY_LIST = /^new\s+ArrayList<\w*>\s*\(\s*\)$/
const JAVA_LIST_WITH = /^new\s+ArrayList<\w*>\s*\(\s*\)\s*\{\s*\{(?<body>.*)\}\s*\}$/s
const JAVA_EMPTY_MAP = /^new\s+HashMap<[^>]*>\s*\(\s*\)(?:\s*\{\s*\})?$/
const JAVA_MAP_WITH = /^new\s+HashMap<[^>]*>\s*\(\s*\)\s*\{\s*\{(?<body>.*)\}\s*\}$/s
const JAVA_STATEMENT = /^(?<method>add|put)\s*\((?<inside>.*)\)$/s

const JS_NUMBER = /^-?\d+(?:\.\d+)?$/
const JS_BIGINT = /^-?\d+n$/
const JS_ARRAY = /^(?:\[(?<items>.*)\]|new\s+Array\((?<given>.*)\))$/s
const JS_OBJECT = /^\{(?<entries>.*)\}$/s

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** Reads a Java literal of a declared type; returns the text unchanged if it isn't one. */
export function javaValue(source: string, type: string, items?: string): unknown {
  const text = source.trim()
  switch (type) {
    case 'byte':
    case 'short':
    case 'integer':
      return INTEGER.test(text) ? Number(text) : source
    case 'long':
      return JAVA_LONG.test(text) ? Number(text.slice(0, -1)) : source
    case 'float':
      return JAVA_FLOAT.test(text) ? Number(text.slice(0, -1)) : source
    case 'double':
      return JAVA_DOUBLE.test(text) ? Number(text) : source
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : source
    case 'Array':
    case 'ArrayList':
      return javaListOf(text, items) ?? source
    case 'HashMap':
      return javaMapOf(text) ?? source
    default:
      return source
  }
}

function javaListOf(text: string, items: string | undefined): unknown[] | undefined {
  if (JAVA_EMPTY_LIST.test(text)) return []
  const listed = (JAVA_ARRAY.exec(text) ?? JAVA_LIST_OF.exec(text))?.groups?.items
  if (listed !== undefined) return splitLiterals(listed).map((one) => javaItemOf(one, items))
  const body = JAVA_LIST_WITH.exec(text)?.groups?.body
  return body === undefined ? undefined : javaStatements(body, 'add')?.map(([one = '']) => javaItemOf(one, items))
}

function javaMapOf(text: string): Record<string, unknown> | undefined {
  if (JAVA_EMPTY_MAP.test(text)) return {}
  const body = JAVA_MAP_WITH.exec(text)?.groups?.body
  const puts = body === undefined ? undefined : javaStatements(body, 'put')
  return puts && Object.fromEntries(puts.map(([key = '', value = '']) => [unquoted(key) ?? key, javaLooseValue(value)]))
}

/** The arguments of statements such as `add(1); add(2);`; undefined if another method is called. */
function javaStatements(body: string, method: string): string[][] | undefined {
  const found = splitLiterals(body, ';').map((one) => JAVA_STATEMENT.exec(one)?.groups)
  if (found.some((groups) => groups?.method !== method)) return undefined
  return found.map((groups) => splitLiterals(groups?.inside ?? ''))
}

const javaItemOf = (text: string, type: string | undefined): unknown =>
  type === undefined || type === 'any' ? javaLooseValue(text) : (unquoted(text) ?? javaValue(text, type))

/** Reads a literal of an undeclared type. */
function javaLooseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (JAVA_LONG.test(text) || JAVA_FLOAT.test(text)) return Number(text.slice(0, -1))
  return JAVA_DOUBLE.test(text) ? Number(text) : (unquoted(text) ?? text)
}

/** Reads a JavaScript literal of a declared type; returns the text unchanged if it isn't one. */
export function javascriptValue(source: string, type: string, items?: string): unknown {
  const text = source.trim()
  switch (type) {
    case 'String':
      return unquoted(text) ?? source
    case 'integer':
      return INTEGER.test(text) ? Number(text) : source
    case 'float':
      return JS_NUMBER.test(text) ? Number(text) : source
    case 'Bigint':
      return JS_BIGINT.test(text) ? Number(text.slice(0, -1)) : source
    case 'Boolean':
      return text === 'true' ? true : text === 'false' ? false : source
    case 'array':
      return jsListOf(text, items) ?? source
    case 'dict':
      return jsObjectOf(text) ?? source
    default:
      return source
  }
}

function jsListOf(text: string, items?: string): unknown[] | undefined {
  const groups = JS_ARRAY.exec(text)?.groups
  const listed = groups?.items ?? groups?.given
  if (listed === undefined) return undefined
  const read = (one: string) =>
    items === undefined || items === 'any' || /^[[{]/.test(one) ? jsLooseValue(one) : javascriptValue(one, items)
  return splitLiterals(listed).map(read)
}

function jsObjectOf(text: string): Record<string, unknown> | undefined {
  const entries = JS_OBJECT.exec(text)?.groups?.entries
  if (entries === undefined) return undefined
  const pairs = splitLiterals(entries).map((entry) => {
    const [key = ''] = splitLiterals(entry, ':')
    return [unquoted(key) ?? key, jsLooseValue(entry.slice(entry.indexOf(':', key.length) + 1).trim())] as const
  })
  return Object.fromEntries(pairs)
}

/** Reads a literal of an undeclared type. */
function jsLooseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (JS_NUMBER.test(text)) return Number(text)
  return unquoted(text) ?? jsListOf(text) ?? jsObjectOf(text) ?? text
}

/** Splits a text at separators outside quotes and brackets, and drops an empty last part. */
function splitLiterals(text: string, separator = ','): string[] {
  const parts: string[] = []
  const open: string[] = []
  let quote: string | undefined
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\\') at++
    else if (quote !== undefined) quote = character === quote ? undefined : quote
    else if (character === '"' || character === "'") quote = character
    else if (CLOSING[character] !== undefined) open.push(CLOSING[character])
    else if (character === open.at(-1)) open.pop()
    else if (character === separator && open.length === 0) {
      parts.push(text.slice(start, at).trim())
      start = at + 1
    }
  }
  const last = text.slice(start).trim()
  return last === '' ? parts : [...parts, last]
}

/** The text between quotes; undefined if it isn't quoted. */
function unquoted(text: string): string | undefined {
  const quote = text[0]
  if ((quote !== '"' && quote !== "'") || text.length < 2 || text.at(-1) !== quote) return undefined
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1')
}
