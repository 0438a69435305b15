import { randomUUID } from 'node:crypto'
import { ownValue } from '../../core/json/json-type.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { snapshotParams } from '../../core/snapshot.ts'
import type { JsonSchema, Params } from '../../core/tool.ts'
import { textMessage } from '../content.ts'
import type { FinishReason, Message, ModelEvent, OfferedTool, ToolCall } from '../model.ts'
import { readJson } from '../read-json.ts'
import { HoldBack } from './hold-back.ts'
import type { PrintedCall } from './read-json-calls.ts'
import { type Accept, type Piece, readMarked, readWhole } from './read-printed.ts'

/** Above this limit every call counts as repeated, which keeps the work linear. */
const MAX_SEARCHES = 32
/** The maximum distance between a call's name and arguments, after `plain`. */
const MAX_GAP = 40
/** Searched natively first: most texts don't contain it. */
const MAX_START = 32
const BEFORE_ARGUMENTS = /^\W*(?:(arguments|parameters|args|params|input|tool_input|action_input)\W*)?$/i
const BEFORE_NAME = /^\W*(?:name|tool|function|action)\W*$/i
const UNICODE_ESCAPE = /\\u([0-9a-f]{4})/gi
/** What quoting changes: white space, invisible characters, quotes, angle brackets and their escapes. */
const CHANGED =
  /\\[bfnrt]?|&(?:quot|apos|lt|gt|#0{0,5}(?:34|39|60|62)|#x0{0,5}(?:22|27|3c|3e));|[\s\p{C}"'`<>‘’“”„«»]+/giu

/** Detects printed calls that an earlier message contains: the model only quotes them. */
class RepeatedCalls {
  readonly #messages: readonly Message[]
  readonly #known = new Map<string, boolean>()
  #earlier: string | undefined
  #searches = 0

  constructor(messages: readonly Message[]) {
    this.#messages = messages
  }

  /** `body` is the text between the markers of `marked`. */
  has(calls: readonly PrintedCall[], body: string, marked: string): boolean {
    const known = this.#known.get(marked) ?? this.#look(calls, body, marked)
    this.#known.set(marked, known)
    return known
  }

  #look(calls: readonly PrintedCall[], body: string, marked: string): boolean {
    const text = plain(body)
    // A name alone occurs in every prompt that explains the tools.
    const isName = calls.some(({ name }) => plain(name) === text)
    return this.#occurs(isName ? plain(marked) : text, () => true) || calls.some((call) => this.#isCalled(call))
  }

  /** The same name next to the same arguments. */
  #isCalled({ name, args }: PrintedCall): boolean {
    const [tool, values] = [plain(name), plain(JSON.stringify(args))]
    const isEmpty = Object.keys(args).length === 0
    return this.#occurs(values, (earlier, at) => {
      const before = earlier.slice(Math.max(0, at - MAX_GAP - tool.length), at)
      const after = earlier.slice(at + values.length, at + values.length + MAX_GAP + tool.length)
      const [nameBefore, nameAfter] = [before.lastIndexOf(tool), after.indexOf(tool)]
      const gap = nameBefore === -1 ? null : BEFORE_ARGUMENTS.exec(before.slice(nameBefore + tool.length))
      if (gap !== null && (gap[1] !== undefined || !isEmpty)) return true
      return nameAfter !== -1 && BEFORE_NAME.test(after.slice(0, nameAfter))
    })
  }

  #occurs(piece: string, isMeant: (earlier: string, at: number) => boolean): boolean {
    if (++this.#searches > MAX_SEARCHES) return true
    this.#earlier ??= this.#messages.map((message) => plain(textMessage(message).content ?? '')).join('\0')
    return occursIn(this.#earlier, piece, isMeant)
  }
}

/** Removes what quoting changes, such as JSON escapes. */
function plain(text: string): string {
  const characters = text.replace(UNICODE_ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return characters.replace(CHANGED, '')
}

/** Knuth–Morris–Pratt search: `indexOf` may take quadratic time. */
function occursIn(text: string, piece: string, isMeant: (text: string, at: number) => boolean): boolean {
  if (piece === '' || !text.includes(piece.slice(0, MAX_START))) return false
  const borders = new Uint32Array(piece.length)
  let length = 0
  for (let at = 1; at < piece.length; at++) {
    const code = piece.charCodeAt(at)
    while (length > 0 && piece.charCodeAt(length) !== code) length = borders[length - 1] ?? 0
    if (piece.charCodeAt(length) === code) length++
    borders[at] = length
  }
  length = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    while (length > 0 && piece.charCodeAt(length) !== code) length = borders[length - 1] ?? 0
    if (piece.charCodeAt(length) === code) length++
    if (length < piece.length) continue
    if (isMeant(text, at + 1 - length)) return true
    length = borders[length - 1] ?? 0
  }
  return false
}

/** Larger checks run in another process, which is too slow here. */
const MAX_STEPS = 2_000_000

/** Undefined unless every call is for an offered tool with valid arguments. */
function acceptCalls(calls: readonly PrintedCall[], tools: readonly OfferedTool[]): ToolCall[] | undefined {
  const accepted = calls.map((call) => acceptCall(call, tools))
  return accepted.every((call) => call !== undefined) ? accepted : undefined
}

function acceptCall(call: PrintedCall, tools: readonly OfferedTool[]): ToolCall | undefined {
  const tool = tools.find(({ name }) => name === call.name)
  if (tool === undefined) return undefined
  const args = call.untyped ? typed(call.args, tool.parameters) : call.args
  if (!isValid(args, tool.parameters)) return undefined
  return {
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: tool.name, arguments: JSON.stringify(args) },
    metadata: { recovered: true },
  }
}

function isValid(args: Params, schema: JsonSchema): boolean {
  try {
    const { check, cost, textCost, unusual, fillDefaults } = compileSchema(schema)
    const { params, nodes, characters } = snapshotParams(args, unusual)
    fillDefaults?.(params)
    return check !== undefined && cost * nodes + textCost * characters <= MAX_STEPS && check(params)
  } catch {
    // The schema doesn't compile, or the arguments are too large.
    return false
  }
}

/** Converts text values to the types of the schema. */
function typed(args: Params, { properties }: JsonSchema): Params {
  const schemas = typeof properties === 'object' && properties !== null ? properties : {}
  return Object.fromEntries(
    Object.entries(args).map(([key, text]) => {
      const schema: unknown = Object.hasOwn(schemas, key) ? Reflect.get(schemas, key) : undefined
      const value = wantsText(schema) ? undefined : readValue(String(text))
      return [key, value === undefined ? text : value]
    }),
  )
}

function wantsText(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return true
  return [Reflect.get(schema, 'type')].flat().includes('string')
}

const PYTHON_WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' }

const readValue = (text: string): unknown => readJson(ownValue(PYTHON_WORDS, text.trim()) ?? text)

/** Calls printed before a filter or failure don't run. */
const SOUND: ReadonlySet<FinishReason> = new Set<FinishReason>(['stop', 'tool_calls', 'length'])

export interface Recovery {
  readonly tools: readonly OfferedTool[]
  /** A call that occurs in the conversation is a quotation. */
  readonly messages: readonly Message[]
  readonly isAllowed: (tool: string) => boolean
  /** Called for a call of an offered tool that stays text. */
  readonly onRefused?: (tool: string, reason: 'not allowed' | 'repeated') => void
}

/**
 * Turns calls that a model printed as text into real calls. They must be for an offered tool, with valid arguments;
 * anything else stays text, and so does everything if a real call follows. A model that quotes a document prints calls
 * that nobody asked for. So a marked call (`<tool_call>…`) must be on its own line, outside code and quotes; bare and
 * fenced JSON must be the whole message, after at most one short line; and no earlier message may contain the call.
 */
export async function* recoverCalls(
  events: AsyncIterable<ModelEvent>,
  { tools, messages, isAllowed, onRefused }: Recovery,
): AsyncGenerator<ModelEvent, void, undefined> {
  const names = tools.map(({ name }) => name)
  const repeated = new RepeatedCalls(messages)
  const accept: Accept = (calls, body, marked) => {
    const [first] = calls
    if (calls.some(({ name }) => !names.includes(name))) return undefined
    // Before the arguments are checked: clients bring schemas that take long to compile.
    const forbidden = calls.find(({ name }) => !isAllowed(name))
    if (forbidden !== undefined) {
      onRefused?.(forbidden.name, 'not allowed')
      return undefined
    }
    const accepted = acceptCalls(calls, tools)
    if (accepted === undefined) return undefined
    if (first !== undefined && repeated.has(calls, body, marked)) onRefused?.(first.name, 'repeated')
    else return accepted
    return undefined
  }
  const read = (held: string, whole: boolean): Piece[] => (whole ? readWhole : readMarked)(held, accept)
  const hasCall = (held: string, whole: boolean) => read(held, whole).some((piece) => 'calls' in piece)
  const back = new HoldBack(names, hasCall)
  let isReal = tools.length === 0
  try {
    for await (const event of events) {
      if (event.type === 'text-delta' && !isReal) {
        yield* textEvent(back.push(event.text))
      } else if (event.type === 'finish') {
        const whole = back.isWhole
        const held = back.release()
        const pieces = SOUND.has(event.reason) ? read(held, whole) : [{ text: held }]
        yield* pieces.flatMap(pieceEvents)
        yield pieces.some((piece) => 'calls' in piece) ? { ...event, reason: 'tool_calls' } : event
      } else {
        if (event.type !== 'text-delta') isReal = true
        yield* textEvent(back.release())
        yield event
      }
    }
  } catch (error) {
    yield* textEvent(back.release())
    throw error
  }
  yield* textEvent(back.release())
}

const textEvent = (text: string): ModelEvent[] => (text === '' ? [] : [{ type: 'text-delta', text }])

function pieceEvents(piece: Piece): ModelEvent[] {
  if ('text' in piece) return textEvent(piece.text)
  return piece.calls.flatMap((call): ModelEvent[] => {
    const { id, function: made } = call
    return [
      { type: 'tool-call-start', id, name: made.name },
      { type: 'tool-call-delta', id, text: made.arguments },
      { type: 'tool-call-end', call },
    ]
  })
}
