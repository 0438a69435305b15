import { compileSchema } from '../../core/schema/compiled-schema.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { Message } from '../../models/model.ts'
import type { ModelAsker } from './model-asker.ts'
import { questionAbout } from './question-about.ts'
import { readReply, spoken } from './read-reply.ts'

/** What is wanted of a model about one document. */
export interface Wanted<Answer> {
  readonly document: string
  readonly instructions: string
  /** What is asked for. */
  readonly asked: JsonSchema
  /** What is taken. */
  readonly taken: JsonSchema
  /** Brings what was replied into the form that is taken, as far as it is meant so. */
  straighten(value: object): unknown
  /** What is still wrong with an answer of that form. */
  problem?(answer: Answer): string | undefined
  /** A reply in words, where that will do. */
  prose?(text: string): Answer
}

export interface Asked<Answer> {
  /** Undefined where the replies could not be used. */
  readonly answer: Answer | undefined
  /** The last reply. */
  readonly reply: string
}

/** Of a reply that cannot be used, the model sees so much again. */
const LONGEST_SHOWN = 10_000

/** Asks a model about a document, and once more where its reply cannot be used, saying why. */
export async function askFor<Answer>(
  asker: ModelAsker,
  wanted: Wanted<Answer>,
  signal: AbortSignal,
): Promise<Asked<Answer>> {
  const question = questionAbout(wanted.document, wanted.instructions, wanted.asked)
  const reply = spoken(await asker.ask(question, wanted.asked, signal))
  if (reply === '') return { answer: undefined, reply }
  const first = read(reply, wanted)
  if (first.answer !== undefined) return { answer: first.answer, reply }
  const again = await askAgain(asker, [...question, ...complaint(reply, first.problem)], wanted.asked, signal)
  if (again === '') return { answer: undefined, reply }
  return { answer: read(again, wanted).answer, reply: again }
}

/** A failure here loses nothing: there is a reply, if not a good one. */
async function askAgain(asker: ModelAsker, messages: readonly Message[], schema: JsonSchema, signal: AbortSignal) {
  try {
    return spoken(await asker.ask(messages, schema, signal))
  } catch {
    signal.throwIfAborted()
    return ''
  }
}

function read<Answer>(reply: string, wanted: Wanted<Answer>): { answer?: Answer; problem: string } {
  const { check, explain } = compileSchema(wanted.taken)
  let problem: string | undefined
  for (const value of readReply(reply)) {
    const straight = wanted.straighten(value)
    const wrong = check?.(straight) ? wanted.problem?.(straight as Answer) : sentence(explain(straight))
    if (wrong === undefined) return { answer: straight as Answer, problem: '' }
    problem ??= wrong
  }
  if (wanted.prose !== undefined && !/^[{[`]/.test(reply)) return { answer: wanted.prose(reply), problem: '' }
  return { problem: problem ?? 'it is not JSON' }
}

const sentence = (problems: readonly { readonly message: string }[]): string =>
  problems.map(({ message }) => message).join(', ')

const complaint = (reply: string, problem: string): Message[] => [
  { role: 'assistant', content: reply.slice(0, LONGEST_SHOWN).toWellFormed() },
  {
    role: 'user',
    content:
      `This reply cannot be used: ${problem}. Answer the first question once more, with one JSON object of the schema ` +
      'that was given and with nothing else.',
  },
]
