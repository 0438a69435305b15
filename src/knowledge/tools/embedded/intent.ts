import { tellingWords } from './prose.ts'

/** The intents to choose from if a caller names none. */
export const DEFAULT_INTENTS: readonly string[] = ['question', 'request', 'complaint', 'feedback', 'greeting', 'other']

/** Chosen if nothing else fits. */
const OTHER = 'other'

export interface Intent {
  readonly intent: string
  /** From 0 to 1. */
  readonly confidence: number
}

export const UNKNOWN: Intent = { intent: 'unknown', confidence: 0 }

/** Vectors of short texts, of any length; undefined if there is no embedded model. */
type EmbedTexts = (texts: readonly string[]) => Promise<readonly (readonly number[])[] | undefined>

/** The start of a text says what its author wants. */
const MAX_READ = 2_000
const MAX_EMBEDDED = 400
/** Unrelated texts are as similar as this. */
const NOISE = 0.1
/** Below it, nothing fits. */
const LEAST = 0.08
/** With less, "other" is the better answer. */
const LEAST_SURE = 0.4
/** How sharply confidence follows the difference between the best and the others. */
const SHARPNESS = 8
/** What a cue, and the words of a category, count beside the similarity. */
const [CUE, WORDS] = [0.3, 0.5]

const QUESTION_WORD =
  /^(?:what|when|where|who|whom|whose|why|how|which|is|are|was|were|do|does|did|can|could|will|would|should|has|have|may|am)\b/i
const ASKS_FOR = /\b(?:can|could|would|will) (?:you|someone|somebody|anyone)\b/i
const WANTS = /\bplease\b|\bi(?:['’]d| would) like\b|\bi (?:want|need|wish)\b|\bwe need\b|\blet['’]s\b/i
const IMPERATIVE =
  /^(?:(?:please|hi|hello|hey|ok|now|just)[\s,]+){0,3}(?:add|arrange|book|buy|call|cancel|change|check|close|contact|convert|create|delete|download|email|explain|find|fix|forward|get|give|help|install|list|make|move|open|order|pay|play|print|refund|register|remind|remove|replace|reserve|reset|return|schedule|search|send|set|share|show|start|stop|subscribe|switch|tell|transfer|translate|turn|unsubscribe|update|upgrade|write)\b/i
const TROUBLE =
  /\b(?:complain\w{0,6}|unacceptable|terrible|awful|horrible|worst|broken|broke|damaged|defective|crash\w{0,4}|fail(?:s|ed|ing)?|rude|angry|furious|annoy\w{0,4}|frustrat\w{0,5}|disappoint\w{0,5}|useless|ridiculous|scam|ripped off|overcharged|charged twice|money back|never (?:arrived|came|works?|worked|received)|still (?:waiting|not|no|broken)|not work(?:ing)?|(?:doesn|didn|don|won|isn|wasn|hasn|haven|can)['’]t|does not|did not|not (?:arrived|received|delivered|been)|no one|nobody|wrong|late again|lost (?:all|my|our)|too (?:slow|late|expensive|loud)|fed up|sick of|waste of)/gi
const PRAISE =
  /\b(?:love|loved|like the|liked|great|excellent|awesome|amazing|fantastic|wonderful|helpful|well done|good (?:job|work)|thanks?|thank you|appreciate|impressed|happy with|easier|nice(?:r)?|suggest\w{0,6}|would be (?:nice|great|better|good)|could be better|in my opinion|i think|i feel|feature|improve\w{0,5}|recommend)\b/gi
const GREETS =
  /^(?:hi|hello|hey|hiya|howdy|greetings|dear all|welcome|good (?:morning|afternoon|evening|day)|bonjour|hola|hallo|ciao)\b/i
/** A greeting says little more. */
const MAX_GREETING = 6

/** What the form of a text says about the intents that people name most, from 0 up. */
function cuesIn(text: string): Readonly<Record<string, number>> {
  const start = text.slice(0, MAX_READ).trim()
  const words = start.split(/\s+/).length
  const bare = start.replace(
    /^(?:hi|hello|hey|good (?:morning|afternoon|evening))(?:[\s,!.]+(?:there|all|team|everyone))?[\s,!.]+/i,
    '',
  )
  const sentences = bare.split(/(?<=[.!?])\s/)
  const asks = ASKS_FOR.test(bare)
  const trouble = Math.min(3, bare.match(TROUBLE)?.length ?? 0)
  const praise = Math.min(3, bare.match(PRAISE)?.length ?? 0)
  const questions = sentences.filter(
    (one) => /\?["”’)]{0,2}$/.test(one) || (QUESTION_WORD.test(one) && !/[.!]$/.test(one)),
  )
  const orders = sentences.filter((one) => IMPERATIVE.test(one))
  return {
    greeting: GREETS.test(start) && words <= MAX_GREETING && questions.length === 0 ? 3 : 0,
    question: Math.min(1, questions.length) * (asks ? 0.5 : 2) * (trouble > 1 ? 0.5 : 1),
    request: (asks ? 2 : 0) + (WANTS.test(bare) ? 1 : 0) + (orders.length > 0 ? 2 : 0),
    complaint: trouble * 1.2,
    feedback: praise * 1.2 * (trouble > 0 ? 0.5 : 1),
  }
}

/** Classifies by the form of a text, the words that it shares with a category, and how similar they are in meaning. */
export async function classifyIntent(text: string, categories: readonly string[], embed: EmbedTexts): Promise<Intent> {
  const cues = cuesIn(text)
  const telling = new Set(tellingWords(text.slice(0, MAX_READ)))
  const choices = categories.filter((category) => category.toLowerCase() !== OTHER)
  // The form of a text says more about an intent such as "question" than its subject does.
  const subjects = choices.filter((category) => !Object.hasOwn(cues, wordsOf(category)))
  const similar = await similarities(text, subjects, embed)
  const scores = choices.map((category) => {
    const cue = cues[wordsOf(category)]
    if (cue !== undefined) return CUE * cue
    const name = tellingWords(wordsOf(category))
    const shared = name.filter((word) => telling.has(word)).length / Math.max(1, name.length)
    return WORDS * shared + Math.max(0, (similar.get(category) ?? 0) - NOISE)
  })
  const best = scores.indexOf(Math.max(...scores))
  const other = categories.find((category) => category.toLowerCase() === OTHER)
  const nothing = other === undefined ? UNKNOWN : { intent: other, confidence: 0.5 }
  if (best === -1 || (scores[best] as number) < LEAST) return nothing
  const weights = scores.map((score) => Math.exp(SHARPNESS * score))
  const sum = weights.reduce((total, weight) => total + weight, Math.exp(SHARPNESS * LEAST))
  const confidence = Math.round(((weights[best] as number) / sum) * 100) / 100
  return other !== undefined && confidence < LEAST_SURE ? nothing : { intent: choices[best] as string, confidence }
}

async function similarities(
  text: string,
  categories: readonly string[],
  embed: EmbedTexts,
): Promise<Map<string, number>> {
  if (categories.length === 0) return new Map()
  const start = text.trim().slice(0, MAX_EMBEDDED).toWellFormed()
  const [own = [], ...others] = (await embed([start, ...categories.map(wordsOf)])) ?? []
  return new Map(categories.map((category, at) => [category, cosine(own, others[at] ?? [])]))
}

/** `cancel_order` as words. */
const wordsOf = (category: string): string =>
  category
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .replaceAll(/[_./-]/g, ' ')
    .toLowerCase()

function cosine(a: readonly number[], b: readonly number[]): number {
  let [dot, squareA, squareB] = [0, 0, 0]
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const [x, y] = [a[at] as number, b[at] as number]
    dot += x * y
    squareA += x * x
    squareB += y * y
  }
  return squareA === 0 || squareB === 0 ? 0 : dot / Math.sqrt(squareA * squareB)
}
