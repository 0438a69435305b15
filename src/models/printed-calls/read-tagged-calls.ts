import type { PrintedCall } from './printed-call.ts'
import { readJson } from './read-json-calls.ts'

const CALL = /\s*<(?:(function)=([\w.-]{1,128})|(invoke) name="([\w.-]{1,128})")>/y
const PARAMETER = /\s*<parameter(?:=([^>\s]{1,128})|\s+name="([^"]{1,128})")[^>]{0,100}>/y
const KEY = /\s*<arg_key>\s*([^<\s](?:[^<]{0,126}[^<\s])?)\s*<\/arg_key>\s*<arg_value>/y
const NAME_LINE = /\s*([\w.-]{1,128})\s*(?=<arg_key>|$)/y

/**
 * Reads calls in which tags hold the name and every parameter: `<function=…><parameter=…>`, `<invoke name="…">`, and
 * GLM's `<arg_key>`.
 */
export function readTaggedCalls(text: string): PrintedCall[] | undefined {
  const calls: PrintedCall[] = []
  let at = 0
  while (text.slice(at).trim() !== '') {
    CALL.lastIndex = at
    const found = CALL.exec(text)
    if (found === null) return at === 0 ? readKeysAndValues(text) : undefined
    const close = `</${found[1] ?? found[3]}>`
    const end = endOf(text, close, CALL.lastIndex)
    const call = readContent(found[2] ?? found[4] ?? '', text.slice(CALL.lastIndex, end))
    if (call === undefined) return undefined
    calls.push(call)
    at = end + close.length
  }
  return calls.length > 0 ? calls : undefined
}

function readContent(name: string, content: string): PrintedCall | undefined {
  if (!content.trimStart().startsWith('{')) return readValues(name, content, PARAMETER, '</parameter>')
  const args = readJson(content)
  return typeof args === 'object' && args !== null ? { name, args: { ...args } } : undefined
}

function readKeysAndValues(text: string): PrintedCall[] | undefined {
  NAME_LINE.lastIndex = 0
  const name = NAME_LINE.exec(text)?.[1]
  if (name === undefined) return undefined
  const call = readValues(name, text.slice(NAME_LINE.lastIndex), KEY, '</arg_value>')
  return call && [call]
}

function readValues(name: string, text: string, opening: RegExp, close: string): PrintedCall | undefined {
  const values: [string, string][] = []
  let at = 0
  while (text.slice(at).trim() !== '') {
    opening.lastIndex = at
    const found = opening.exec(text)
    const end = found === null ? -1 : text.indexOf(close, opening.lastIndex)
    if (found === null || end === -1) return undefined
    // The templates put a value on lines of its own.
    values.push([found[1] ?? found[2] ?? '', text.slice(opening.lastIndex, end).replace(/^\n|\n$/g, '')])
    at = end + close.length
  }
  return { name, args: Object.fromEntries(values), untyped: true }
}

/** Models stop where the last closing tag would stand. */
function endOf(text: string, close: string, from: number): number {
  const end = text.indexOf(close, from)
  return end === -1 ? text.length : end
}
