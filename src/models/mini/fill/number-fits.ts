import { wordsOfName } from '../pair-texts.ts'
import { timeUnit } from '../values/durations.ts'
import { sameMeasure, unitAfter, unitWanted } from '../values/measures.ts'
import type { Candidate } from './candidates.ts'
import type { Parameter } from './parameter.ts'

const FITS = 15
const CONTRADICTS = -30
const MONEY_NAME = /\b(?:amount|price|cost|budget|salary|income|principal|deposit|payment|fee|value|balance|money)\b/
const RATE_NAME = /\b(?:rate|percent|percentage|interest|ratio|probability|discount|tax|share|tip)\b/
const TIME_AFTER = /^[\s-](second|minute|hour|day|week|month|year)s?\b/i
const WORDS_AFTER = /^[\s-]*((?:[\p{L}-]+\s*){1,3})/u
const EMPTY = new Set('number of num count max min maximum minimum total size in the per amount'.split(' '))

/** What stands around a number says whose it is: "10 reps", "82 kg", "$45", "7 %". Above 0 it fits. */
export function numberFits({ name, description }: Parameter, { from, to }: Candidate, said: string): number {
  const words = wordsOfName(name)
  const end = /\b(first|last)\s+$/i.exec(said.slice(Math.max(0, from - 10), from))?.[1]?.toLowerCase()
  if (end !== undefined && /^(?:start|end)$/.test(words)) {
    return (end === 'first') === (words === 'end') ? FITS : CONTRADICTS
  }
  const unit = unitAfter(said, to)
  const wanted = unitWanted(name, description)
  if (unit !== undefined && wanted !== undefined) return sameMeasure(unit, wanted) ? FITS : CONTRADICTS
  const money = /[$€£¥₹]\s?$/.test(said.slice(Math.max(0, from - 2), from))
  if (money)
    return MONEY_NAME.test(words)
      ? FITS
      : /\b(?:year|day|hour|minute|month|count|number)s?\b/.test(words)
        ? CONTRADICTS
        : 0
  if (/%\s?$/.test(said.slice(from, to))) return RATE_NAME.test(words) ? FITS / 2 : 0
  const time = TIME_AFTER.exec(said.slice(to, to + 10))?.[1]?.toLowerCase()
  const counted = timeUnit(name, description)
  if (time !== undefined && counted !== undefined) return FITS / 2
  return namedAfter(words, said.slice(to, to + 40)) ? FITS : 0
}

/** Whether the thing that is counted has the parameter's name: "3 sets of 10 reps". */
function namedAfter(words: string, rest: string): boolean {
  const next = (WORDS_AFTER.exec(rest)?.[1] ?? '').toLowerCase().split(/[\s-]+/)
  // Only the first noun: after "of" or "and" comes something else.
  const until = next.findIndex((word) => /^(?:of|and|or|with|for|in|at|on|to|from)$/.test(word))
  const near = (until < 0 ? next : next.slice(0, until)).map(singular)
  return words
    .split(' ')
    .filter((word) => word.length > 3 && !EMPTY.has(word))
    .some((word) => near.includes(singular(word)))
}

const singular = (word: string): string => (word.length > 3 ? word.replace(/s$/, '') : word)
