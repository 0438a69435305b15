import { wordsOfName } from '../pair-texts.ts'
import type { Candidate } from './candidates.ts'

/** A word before a value that says whose it is, by the names of the parameters that it speaks for. */
interface Direction {
  readonly names: RegExp
  readonly before: RegExp
  /** What stands after it, where the model marks nothing. */
  readonly piece: RegExp
}

const UNTIL = String.raw`(?=\s+(?:WORDS)\b|[,.;?!]|$)`
const pieceAfter = (words: string, stops: string): RegExp =>
  new RegExp(`\\b(?:${words})\\s+(?:the\\s+|my\\s+)?(\\S.{0,60}?)${UNTIL.replace('WORDS', stops)}`, 'giu')
const before = (words: string, between: string): RegExp => new RegExp(`\\b(?:${words})\\s+(?:${between})*["'“‘]?$`, 'i')

const FROM: Direction = {
  names: /\b(?:from|source|src|origin|start|departure|depart|sender|base|pickup)\b/,
  before: before('from|leaving|between|since', 'the\\s+|my\\s+|account\\s+|airport\\s+'),
  piece: pieceAfter('from', 'to|into|on|at|by|with|for|in|via|and|avoiding|please'),
}
const TO: Direction = {
  names: /\b(?:to|target|dest|destination|end|arrival|arrive|recipient|receiver)\b/,
  before: before('to|into|towards?|until|till', 'the\\s+|my\\s+|account\\s+|airport\\s+'),
  piece: pieceAfter('to', 'from|on|at|by|with|for|in|via|and|avoiding|please'),
}
/** Of what is put in the place of something in a text: "replace a with o in banana". */
const WITH: Direction = {
  names: /\breplacement\b/,
  before: before('with|by', 'the\\s+|letters?\\s+|words?\\s+'),
  piece: pieceAfter('with|by', 'in|within|from|please'),
}
const IN_TEXT: Direction = {
  names: /^(?:text|string|sentence|word)$/,
  before: before(
    'in|within|of|word|string|text|sentence',
    'the\\s+|this\\s+|words?\\s+|strings?\\s+|texts?\\s+|sentences?\\s+|phrases?\\s+',
  ),
  piece: /\b(?:in|within)\s+(?:the\s+)?(?:(?:word|string|text|sentence|phrase)\s+)?(\S.{0,200}?)(?=[?!.]*$)/giu,
}

/** What is looked for in a text is neither that nor what takes its place. */
const SEARCHED = /^(?:search|find|old|piece)$/
const CUT_AT: Direction = {
  names: /\b(?:separator|delimiter)\b/,
  before: before('by|at|on', 'the\\s+|every\\s+|each\\s+'),
  piece: /\b(?:by|at|on)\s+["'“‘]([^"'”’]{1,20})(?=["'”’])/giu,
}

/** 1 where the word before a piece says what the name of the parameter does, −1 where it says the opposite. */
export function directionFits(parameter: string, said: string, from: number): -1 | 0 | 1 {
  const words = wordsOfName(parameter)
  const text = said.slice(Math.max(0, from - 30), from)
  if (WITH.names.test(words) || IN_TEXT.names.test(words)) {
    const [own, other] = WITH.names.test(words) ? [WITH, IN_TEXT] : [IN_TEXT, WITH]
    return own.before.test(text) ? 1 : other.before.test(text) ? -1 : 0
  }
  if (CUT_AT.names.test(words)) return CUT_AT.before.test(text) ? 1 : -1
  if (SEARCHED.test(words)) return WITH.before.test(text) || IN_TEXT.before.test(text) ? -1 : 0
  const wantsFrom = FROM.names.test(words)
  const wantsTo = TO.names.test(words)
  if (wantsFrom === wantsTo) return 0
  if (FROM.before.test(text)) return wantsFrom ? 1 : -1
  if (TO.before.test(text)) return wantsTo ? 1 : -1
  return 0
}

/** Better than what the model thinks was not said. */
const DIRECTED_SCORE = -10

/** What stands after such a word, for parameters that are named so. */
export function directedPieces(parameter: string, said: string): Candidate[] {
  const words = wordsOfName(parameter)
  const [only, ...others] = [FROM, TO, WITH, IN_TEXT, CUT_AT].filter(({ names }) => names.test(words))
  if (only === undefined || others.length > 0) return []
  return [...said.matchAll(only.piece)].map(({ index, 0: all, 1: piece = '' }) => ({
    score: DIRECTED_SCORE,
    from: index + all.length - piece.length,
    to: index + all.length,
  }))
}
