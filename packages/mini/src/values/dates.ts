import { type ParsedComponents, parse } from 'chrono-node'
import { DateTime } from 'luxon'
import type { FoundValue } from './codes.ts'

/** What a description asks a date to look like, as a pattern for luxon. */
export function dateFormat(description: string, format?: string): string | undefined {
  if (format === 'date') return 'yyyy-MM-dd'
  if (format === 'date-time') return "yyyy-MM-dd'T'HH:mm:ssZZ"
  if (format === 'time') return 'HH:mm:ss'
  const text = description.toLowerCase()
  const found =
    /\b(?:yyyy|yy|mm|dd|d)(?:([-/.])(?:yyyy|mm|dd|d)){2}(?:[t ]+hh:mm(?::ss)?)?/.exec(text) ??
    /\b(?:year|month|day)(?:([-/.])(?:year|month|day)){2}\b/.exec(text)
  if (found !== null) {
    return found[0]
      .replace(/t(?=hh)/, "'T'")
      .replace('hh:mm:ss', 'HH:##:ss')
      .replace('hh:mm', 'HH:##')
      .replace(/year/, 'yyyy')
      .replace(/month|mm/, 'MM')
      .replace(/\bday\b/, 'dd')
      .replace('##', 'mm')
  }
  if (/\biso[- ]?8601\b/.test(text)) return 'yyyy-MM-dd'
  if (/\bhh:mm:ss\b/.test(text)) return 'HH:mm:ss'
  if (/\bhh:mm ?(?:am|a\.m\.)/.test(text)) return 'hh:mm a'
  return /\bhh:mm\b/.test(text) || (/24[- ]hour/.test(text) && /time/.test(text)) ? 'HH:mm' : undefined
}

/** Whether a parameter wants a date or a time of day. */
export const wantsDate = (name: string, description: string): boolean =>
  /date|\bday\b|time(?!zone| ?frame| ?out)|deadline|birthday|\bwhen\b|\b(?:start|begin|end|due|check[ _]?(?:in|out)|depart(?:ure)?|arrival|return)\b/i.test(
    `${name.replaceAll('_', ' ')} ${description.slice(0, 60)}`,
  )

/** The date that a text names, relative ones too, in this form; undefined where it names none. */
export function dateAs(text: string, format: string, now: Date): string | undefined {
  return datesIn(text, format, now)[0]?.value
}

/** The dates or times of a text, relative ones too, in this form. */
export function datesIn(text: string, format: string, now: Date): FoundValue[] {
  // "May.5" and "Jan5" are dates as well; the places stay.
  const readable = text.replaceAll(/\b([A-Z][a-z]{2,8})\.(?=\s?\d)/g, '$1 ')
  const found = parse(readable, now, { forwardDate: true }).flatMap(({ index, text: piece, start, end }) => {
    const joint = end ? RANGE.exec(piece) : null
    if (end == null || joint === null) return dateAt(start, index, piece.length, format)
    const second = joint.index + joint[0].length
    return [...dateAt(start, index, joint.index, format), ...dateAt(end, index + second, piece.length - second, format)]
  })
  const named = /^h/i.test(format) ? [] : namedDays(text, format, now)
  return [...found, ...named.filter((one) => !found.some(({ from, to }) => from < one.to && one.from < to))]
}

/** Between the two dates of a range. */
const RANGE = /(?<!\s)\s+(?:to|until|till|through|and|[-–—])\s+|[–—]/i

function dateAt(date: ParsedComponents, from: number, length: number, format: string): FoundValue[] {
  const day = date.isCertain('day') || date.isCertain('weekday') || !date.isCertain('hour')
  if (/^h/i.test(format) ? !date.isCertain('hour') : !day && !/H/.test(format)) return []
  return [{ from, to: from + length, value: DateTime.fromJSDate(date.date()).toFormat(format) }]
}

/** Days that have a name and the same date every year; the next one is meant. */
const NAMED_DAYS: readonly (readonly [RegExp, number, number])[] = [
  [/\bchristmas eve\b/gi, 12, 24],
  [/\b(?:christmas|xmas)(?: day)?\b(?! eve)/gi, 12, 25],
  [/\bnew year['’]?s eve\b/gi, 12, 31],
  [/\b(?:the )?new year(?:['’]?s)?(?: day)?\b(?! eve)/gi, 1, 1],
  [/\bhallowe['’]?en\b/gi, 10, 31],
  [/\bvalentine['’]?s(?: day)?\b/gi, 2, 14],
]

function namedDays(text: string, format: string, now: Date): FoundValue[] {
  const today = DateTime.fromJSDate(now).startOf('day')
  return NAMED_DAYS.flatMap(([pattern, month, date]) =>
    [...text.matchAll(pattern)].map(({ index, 0: name }) => {
      const day = today.set({ month, day: date })
      const next = day < today ? day.plus({ years: 1 }) : day
      return { from: index, to: index + name.length, value: next.toFormat(format) }
    }),
  )
}
