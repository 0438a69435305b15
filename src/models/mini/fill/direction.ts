import { wordsOfName } from '../pair-texts.ts'
import type { Candidate } from './candidates.ts'

const FROM = /\b(?:from|source|src|origin|start|departure|depart|sender|base|pickup)\b/
const TO = /\b(?:to|target|dest|destination|end|arrival|arrive|recipient|receiver)\b/
const AFTER_FROM = /\b(?:from|leaving|between)\s+(?:the\s+|my\s+|account\s+|airport\s+)*["'“]?$/i
const AFTER_TO = /\b(?:to|into|towards?)\s+(?:the\s+|my\s+|account\s+|airport\s+)*["'“]?$/i

/** 1 where "from" or "to" before a piece says what the name of the parameter does, −1 where it says the opposite. */
export function directionFits(parameter: string, said: string, from: number): -1 | 0 | 1 {
  const words = wordsOfName(parameter)
  const wantsFrom = FROM.test(words)
  const wantsTo = TO.test(words)
  if (wantsFrom === wantsTo) return 0
  const before = said.slice(Math.max(0, from - 30), from)
  if (AFTER_FROM.test(before)) return wantsFrom ? 1 : -1
  if (AFTER_TO.test(before)) return wantsTo ? 1 : -1
  return 0
}

const PIECE_FROM =
  /\bfrom\s+(?:the\s+|my\s+)?(\S.{0,60}?)(?=\s+(?:to|into|on|at|by|with|for|in|via|and|avoiding|please)\b|[,.;?!]|$)/giu
const PIECE_TO =
  /\bto\s+(?:the\s+|my\s+)?(\S.{0,60}?)(?=\s+(?:from|on|at|by|with|for|in|via|and|avoiding|please)\b|[,.;?!]|$)/giu
/** Better than what the model thinks was not said. */
const DIRECTED_SCORE = -10

/** What stands after "from" or "to", for parameters that are named so. */
export function directedPieces(parameter: string, said: string): Candidate[] {
  const words = wordsOfName(parameter)
  const [from, to] = [FROM.test(words), TO.test(words)]
  if (from === to) return []
  return [...said.matchAll(from ? PIECE_FROM : PIECE_TO)].map(({ index, 0: all, 1: piece = '' }) => ({
    score: DIRECTED_SCORE,
    from: index + all.length - piece.length,
    to: index + all.length,
  }))
}
