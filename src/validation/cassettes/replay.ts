import { canonicalText } from '../../core/schema/canonical-text.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Params } from '../../core/tool.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import type { Message } from '../../models/model.ts'
import { type Cassette, CassetteError } from './cassette.ts'

export type ReplayMode = 'strict' | 'loose'

interface Answer {
  readonly iteration: number
  readonly tool: string
  readonly params: string
  readonly result: ToolResult
  used: boolean
}

/** The state of a replay: its turn, the results given so far, and the first difference from the run. */
export class Replay {
  readonly #cassette: Cassette
  readonly #mode: ReplayMode
  readonly #answers: readonly Answer[]
  readonly #cancellation = new AbortController()
  #turns = 0
  #difference: CassetteError | undefined

  constructor(cassette: Cassette, mode: ReplayMode) {
    this.#cassette = cassette
    this.#mode = mode
    // The loop and the executor answer calls that never reached a tool.
    this.#answers = cassette.calls
      .filter(({ iteration, not_run, params }) => iteration > 0 && !not_run && isObject(params))
      .map(({ iteration, tool, params, result }) => ({
        iteration,
        tool,
        params: canonicalText(params),
        result,
        used: false,
      }))
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal
  }

  get turns(): number {
    return this.#turns
  }

  /** The number of recorded calls that the replay didn't make. */
  get unused(): number {
    return this.#answers.filter(({ used }) => !used).length
  }

  /** Starts the next turn and returns its number. Throws if the conversation differs from the recording. */
  begin(messages: readonly Message[]): number {
    if (this.#difference !== undefined) throw this.#difference
    if (this.#mode === 'strict') {
      const difference = firstDifference(conversationAfter(this.#turns, this.#cassette), messages)
      if (difference !== undefined) throw this.fail(difference, this.#turns + 1)
    }
    this.#turns++
    return this.#turns
  }

  /** The recorded result of a call. */
  resultOf(tool: string, params: Params): ToolResult {
    const text = canonicalText(params)
    const same = this.#answers.filter((answer) => answer.tool === tool && answer.params === text)
    const here = this.#mode === 'strict' ? same.filter(({ iteration }) => iteration === this.#turns) : same
    const answer = here.find(({ used }) => !used) ?? (this.#mode === 'loose' ? here.at(-1) : undefined)
    if (answer === undefined) throw this.fail(this.#noAnswer(tool, text))
    answer.used = true
    return answer.result
  }

  /** Ends the replay where the run was cancelled. */
  cancel(): void {
    this.#cancellation.abort()
  }

  /** Records the first difference, which the replay fails with. */
  fail(difference: string, turn: number = this.#turns): CassetteError {
    const { run_id } = this.#cassette
    this.#difference ??= new CassetteError(
      `The replay of run '${run_id}' differs from the run: in turn ${turn}, ${difference}`,
    )
    return this.#difference
  }

  /** Throws if the replay differed from the run. */
  check(): void {
    if (this.#difference !== undefined) throw this.#difference
  }

  #noAnswer(tool: string, params: string): string {
    const where =
      this.#mode === 'strict' ? this.#answers.filter(({ iteration }) => iteration === this.#turns) : this.#answers
    const there = where.filter(({ used }) => !used).map((answer) => `${answer.tool} with ${answer.params}`)
    const has = there.length === 0 ? 'no more calls' : there.join(', ')
    return `${tool} is called with ${params}, but the cassette has ${has}`
  }
}

/** The recorded conversation after a number of turns. */
function conversationAfter(turns: number, { request, turns: recorded, calls }: Cassette): Message[] {
  const messages: Message[] = [...request.messages]
  for (const [index, turn] of recorded.slice(0, turns).entries()) {
    const tool_calls = turn.calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: args },
    }))
    messages.push({ role: 'assistant', content: turn.text === '' ? null : turn.text, tool_calls })
    const results = calls.filter(({ iteration }) => iteration === index + 1)
    for (const [place, { tool, result }] of results.entries()) {
      const id = turn.calls[place]?.id ?? ''
      messages.push({ role: 'tool', tool_call_id: id, name: tool, content: JSON.stringify(result) })
    }
  }
  return messages
}

/**
 * Describes the first difference between two conversations; undefined if there is none. Ignores call ids, durations and
 * provider metadata.
 */
function firstDifference(expected: readonly Message[], actual: readonly Message[]): string | undefined {
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    const [was, is] = [shown(expected[index]), shown(actual[index])]
    if (was !== is) return `message ${index + 1} was ${was ?? 'missing'}, but is now ${is ?? 'missing'}`
  }
  return undefined
}

/** Formats a message canonically. */
function shown(message: Message | undefined): string | undefined {
  if (message === undefined) return undefined
  if (message.role === 'tool') return `${message.name} giving ${shownResult(message.content)}`
  if (message.role !== 'assistant' || message.tool_calls === undefined) return content(message)
  const calls = message.tool_calls.map(({ function: { name, arguments: args } }) => `${name}(${canonical(args)})`)
  return `${content(message)} with the calls ${calls.join(', ')}`
}

const content = ({ role, content: text }: Message): string => `${role} saying ${JSON.stringify(text || null)}`

function shownResult(content: string): string {
  const value = parsed(content)
  if (typeof value !== 'object' || value === null) return content
  const { execution_time_ms: _, ...result } = value as Record<string, unknown>
  return canonicalText(result)
}

const canonical = (args: string): string => {
  const value = parsed(args)
  return value === undefined ? args : canonicalText(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
