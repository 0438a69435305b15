import type { Message, Params } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import type { Parameter } from '../fill/parameter.ts'
import { listedValues } from '../values/described-options.ts'

/** A question of ours that was answered. */
export interface Answered {
  /** The words of the parameter that was asked for. */
  readonly asked: string
  readonly answer: string
}

/** What a person wants, read from the whole conversation. */
export interface Wanted {
  /** The request itself, which may stand some turns back. */
  readonly request: string
  readonly answers: readonly Answered[]
}

const QUESTION = /(?:^|\. |\n)Which ([^?:]{1,100})(?:: [^?]{1,1000})?\?$/
const MAX_QUESTION_LENGTH = 1_120
const CORRECTION =
  /^(?:no|nope|actually|sorry|wait|oops|i mean(?:t)?|rather|make (?:it|that)|what about|how about|and)\b[\s,.!:—-]*(?:i mean(?:t)?\b\s*|rather\b\s*|make (?:it|that)\b\s*|what about\b\s*|how about\b\s*)?/i

/** The question for a parameter, with what there is to choose from, as it is asked and recognised. */
export function questionFor({ name, description }: Parameter): string {
  const listed = listedValues(description)
  const choice = listed.length > 1 ? `: ${listed.slice(0, -1).join(', ')} or ${listed.at(-1)}` : ''
  return `Which ${wordsOfName(name)}${choice}?`
}

/** The request that the last message belongs to, with the answers to what we asked since. */
export function readWanted(messages: readonly Message[], last: number): Wanted {
  const answers: Answered[] = []
  let at = last
  for (;;) {
    const question = messages[at - 1]
    const asked =
      question?.role === 'assistant'
        ? QUESTION.exec((question.content ?? '').slice(-MAX_QUESTION_LENGTH))?.[1]
        : undefined
    const before = messages.slice(0, Math.max(0, at - 1)).findLastIndex(({ role }) => role === 'user')
    const answer = messages[at]?.content ?? ''
    if (asked === undefined || before < 0) return { request: answer, answers: answers.reverse() }
    answers.push({ asked, answer })
    at = before
  }
}

/** What a correction says, without the words that make it one; undefined where it is none. */
export function correctionIn(said: string): string | undefined {
  const found = CORRECTION.exec(said.trim())
  const rest = found === null ? '' : said.trim().slice(found[0].length).trim()
  return rest === '' || rest.split(/\s+/).length > 12 ? undefined : rest
}

/** The last call before a message. */
export function lastCall(
  messages: readonly Message[],
  before: number,
): { readonly tool: string; readonly params: Params } | undefined {
  for (const message of messages.slice(0, before).reverse()) {
    const call = message.role === 'assistant' ? message.tool_calls?.at(-1) : undefined
    if (call === undefined) continue
    try {
      const params: unknown = JSON.parse(call.function.arguments)
      return { tool: call.function.name, params: Object(params) as Params }
    } catch {
      return undefined
    }
  }
  return undefined
}
