import { parse } from 'chrono-node'
import { DateTime } from 'luxon'

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
  return /\bhh:mm\b|24[- ]hour/.test(text) && /time/.test(text) ? 'HH:mm' : undefined
}

/** Whether a parameter wants a date or a time of day. */
export const wantsDate = (name: string, description: string): boolean =>
  /date|\bday\b|time(?!zone| ?frame| ?out)|deadline|birthday|\bwhen\b/i.test(
    `${name.replaceAll('_', ' ')} ${description.slice(0, 60)}`,
  )

/** The date that a text names, relative ones too, in this form; undefined where it names none. */
export function dateAs(text: string, format: string, now: Date): string | undefined {
  const [found] = parse(
    text.replace(/\b([A-Z][a-z]{2,8})\.?(\d{1,2})(?=[\s,])/, '$1 $2').replace(/\b([A-Z][a-z]{2,8})\.(?=\s?\d)/, '$1 '),
    now,
    {
      forwardDate: true,
    },
  )
  return found === undefined ? undefined : DateTime.fromJSDate(found.start.date()).toFormat(format)
}
