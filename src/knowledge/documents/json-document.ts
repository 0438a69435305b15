import { isDeep } from '../../core/json-depth.ts'
import { cleanText } from './clean-text.ts'
import type { Block } from './document.ts'
import { shortened } from './heading-path.ts'
import { isContainer, jsonLines } from './json-lines.ts'
import { RecordWriter } from './record-writer.ts'

export interface JsonDocument {
  readonly text: string
  readonly blocks: readonly Block[]
  readonly title?: string
  readonly warnings: readonly string[]
}

const DEEPEST = 200
/** Objects in objects become parts of their own down to here, if they have so many characters. */
const DEEPEST_PART = 3
const LARGE = 400
const LINE: readonly string[] = ['line']

/** A JSON document, or one with a JSON value in each line, as lines of `key: value`; undefined where it is neither. */
export function jsonDocument(text: string, name: string): JsonDocument | undefined {
  if (isDeep(text, DEEPEST)) return undefined
  const writer = new RecordWriter(name)
  const warnings: string[] = []
  let title: unknown
  try {
    const value = parse(text)
    addValue(writer, value, [], 0)
    title = (Object(value) as { title?: unknown }).title
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    if (!addLines(writer, text, warnings)) return undefined
  }
  const written = { text: writer.toString(), blocks: writer.blocks, warnings }
  return typeof title === 'string' && title.trim() !== '' ? { ...written, title: title.trim() } : written
}

/** Whether there was a JSON value in the first line, and so in most. */
function addLines(writer: RecordWriter, text: string, warnings: string[]): boolean {
  let bad = 0
  let number = 0
  for (const line of text.split('\n')) {
    number++
    if (line.trim() === '') continue
    try {
      writer.add(jsonLines(parse(line)), LINE, number)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      if (writer.blocks.length === 0) return false
      bad++
      writer.add([line], LINE, number)
    }
  }
  if (bad > 0) warnings.push(`${bad} of its lines are no JSON and were kept as they are`)
  return true
}

function addValue(writer: RecordWriter, value: unknown, path: readonly string[], depth: number): void {
  if (isList(value)) {
    const items = [...path, 'item']
    for (const [index, item] of value.entries()) writer.add(jsonLines(item), items, index + 1)
  } else if (isPart(value, depth)) addMembers(writer, value, path, depth)
  else writer.add(jsonLines(value), path, 0)
}

/** What an object says itself comes first, then the lists and large objects in it. */
function addMembers(writer: RecordWriter, value: object, path: readonly string[], depth: number): void {
  const own: string[] = []
  const parts: [key: string, value: unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    if (isList(inner) || isPart(inner, depth + 1)) parts.push([key, inner])
    else jsonLines(inner, key, own)
  }
  writer.add(own, path, 0)
  for (const [key, inner] of parts) addValue(writer, inner, [...path, shortened(cleanText(key))], depth + 1)
}

const isList = (value: unknown): value is unknown[] => Array.isArray(value) && value.some(isContainer)

/** Whether an object becomes a part of its own: small ones stay in the one around them, deep ones in one piece. */
function isPart(value: unknown, depth: number): value is object {
  if (!isContainer(value) || Array.isArray(value) || depth > DEEPEST_PART) return false
  return depth === 0 || weigh(value, LARGE) < 0
}

/** What is left of `left` characters after the values inside; negative as soon as there are more. */
function weigh(value: unknown, left: number): number {
  if (!isContainer(value)) return left - String(value).length
  let rest = left
  for (const [key, inner] of Object.entries(value)) {
    rest = weigh(inner, rest - key.length)
    if (rest < 0) break
  }
  return rest
}

/** Numbers that JavaScript cannot hold, such as long identifiers, are kept as they are written. */
function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && String(value) !== source ? source : value
  })
}
