import { Balance } from './balance.ts'
import type { PrintedCall } from './printed-call.ts'
import { readJson, readJsonCalls } from './read-json-calls.ts'

/** What may stand between calls, or between a name and its arguments, and says nothing: the tokens of all the templates. */
const BETWEEN =
  /(?:[\s,;]|```[a-z_]*|<\|constrain\|>\w*|<\|[\w/]{1,40}\|>|<｜[\w▁]{1,40}｜>|\[ARGS\]|\[CALL_ID\]\w{1,40}|\[TOOL_CALLS\]|<\/s>)+/y
const NAME = /(?:functions\.)?([\w.-]{1,128})(?::\d+)?/y

/** Reads a text that consists of calls only: JSON, one after the other, or a name before its arguments. */
export function readSequence(text: string, names: 'named' | 'unnamed'): PrintedCall[] | undefined {
  const calls: PrintedCall[] = []
  let name: string | undefined
  for (let at = skip(text, 0); at < text.length; at = skip(text, at)) {
    if (text[at] === '{' || text[at] === '[') {
      const end = valueEnd(text, at)
      const value = readJson(text.slice(at, end))
      const read = name === undefined ? readJsonCalls(value) : readNamed(name, value)
      if (read === undefined) return undefined
      calls.push(...read)
      name = undefined
      at = end
      continue
    }
    NAME.lastIndex = at
    const found = names === 'named' ? NAME.exec(text) : null
    // DeepSeek writes the type before the name.
    if (found === null || (name !== undefined && name !== 'function')) return undefined
    name = found[1]
    at = NAME.lastIndex
  }
  return calls.length > 0 && name === undefined ? calls : undefined
}

const readNamed = (name: string, args: unknown): PrintedCall[] | undefined =>
  typeof args === 'object' && args !== null && !Array.isArray(args) ? [{ name, args: { ...args } }] : undefined

function skip(text: string, at: number): number {
  BETWEEN.lastIndex = at
  return BETWEEN.test(text) ? BETWEEN.lastIndex : at
}

/** Behind the bracket that closes the one at `start`; the end of the text where there is none. */
function valueEnd(text: string, start: number): number {
  const balance = new Balance()
  for (let at = start; at < text.length; at++) if (balance.closes(text[at] ?? '')) return at + 1
  return text.length
}
