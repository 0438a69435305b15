import { jsonrepair } from 'jsonrepair'
import { parseJson } from '../../core/json-depth.ts'
import { LIMITS } from '../../core/snapshot.ts'

/** Repairing takes time in the square of the length: for this much up to some 10 ms. */
const LONGEST_REPAIRED = 5_000
/** Code fences that are looked into. */
const MOST_FENCES = 3
/** Repairing calls itself for every level. */
const DEEPEST = 64
const THINKING = '<think>'
const THOUGHT = '</think>'
const FENCE = '```'

/** A reply without the thinking that some models write before it. */
export function spoken(reply: string): string {
  const text = reply.trim()
  const end = text.startsWith(THINKING) ? text.indexOf(THOUGHT) : -1
  return end === -1 ? text : text.slice(end + THOUGHT.length).trim()
}

/**
 * The objects and lists that a reply may mean, likeliest first: as it stands, in code fences, with prose around it; and
 * then the same with what models get wrong put right: commas, quotes, an end that is missing.
 */
export function* readReply(text: string): Generator<object> {
  const places = new Set([text, ...fenced(text), ...between(text, '{', '}'), ...between(text, '[', ']')])
  for (const place of places) yield* parsed(place)
  for (const place of places) {
    if (/^[{[]/.test(place) && place.length <= LONGEST_REPAIRED && depthOf(place) <= DEEPEST) yield* repaired(place)
  }
}

const fenced = (text: string): string[] =>
  text
    .split(FENCE)
    .filter((_, index) => index % 2 === 1)
    .slice(0, MOST_FENCES)
    .map((block) => block.replace(/^[a-zA-Z0-9]+/, '').trim())

/** From the first to the last; and to the end, where that was never written. */
function between(text: string, open: string, close: string): string[] {
  const from = text.indexOf(open)
  if (from === -1) return []
  const to = text.lastIndexOf(close)
  return to > from ? [text.slice(from, to + 1), text.slice(from)] : [text.slice(from)]
}

function* parsed(text: string): Generator<object> {
  try {
    const value = parseJson(text, LIMITS.answerDepth)
    if (typeof value === 'object' && value !== null) yield value
  } catch {
    // Then it is something else.
  }
}

function* repaired(text: string): Generator<object> {
  try {
    yield* parsed(jsonrepair(text))
  } catch {
    // Beyond repair.
  }
}

/** Counts brackets wherever they stand, so it may say too much, and never too little. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const character of text) {
    if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth)
    else if (character === '}' || character === ']') depth--
  }
  return deepest
}
