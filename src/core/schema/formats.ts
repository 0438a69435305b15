import { type FormatName, fullFormats } from 'ajv-formats/dist/formats.js'
import { isPattern } from './linear-pattern.ts'

/** One `format`: it judges values of one type and lets all others pass. */
export interface Format {
  readonly type: 'string' | 'number'
  readonly validate: (value: never) => boolean
}

// No value of these is longer in earnest, so that a text of a megabyte is never matched.
const LONGEST: Partial<Record<FormatName, number>> = {
  date: 10,
  time: 64,
  'date-time': 80,
  'iso-time': 64,
  'iso-date-time': 80,
  duration: 256,
  email: 320,
  hostname: 254,
  ipv4: 15,
  ipv6: 45,
  uuid: 45,
  regex: 65_536,
  'uri-reference': 65_536,
  'uri-template': 65_536,
  'json-pointer': 65_536,
  'json-pointer-uri-fragment': 65_536,
  'relative-json-pointer': 65_536,
}

/** The formats that are asserted, by name; any other name is an annotation and checks nothing. */
export const FORMATS: ReadonlyMap<string, Format> = new Map(
  Object.entries(fullFormats).flatMap(([name, definition]): [string, Format][] => {
    if (name === 'regex') return [[name, textFormat(isPattern, LONGEST.regex)]]
    if (name === 'url') return [[name, textFormat(isUrl)]]
    if (definition instanceof RegExp) {
      return [[name, textFormat((text) => definition.test(text), LONGEST[name as FormatName])]]
    }
    if (typeof definition === 'function') return [[name, textFormat(definition, LONGEST[name as FormatName])]]
    if (typeof definition !== 'object' || !('validate' in definition)) return []
    const { type, validate } = definition as { type?: string; validate: (value: never) => boolean }
    return [
      [
        name,
        type === 'number'
          ? { type, validate }
          : textFormat(validate as (text: string) => boolean, LONGEST[name as FormatName]),
      ],
    ]
  }),
)

/** Whether a value satisfies a format; unknown formats and values of another type do. */
export function hasFormat(value: unknown, name: unknown): boolean {
  const format = FORMATS.get(String(name))
  return format === undefined || typeof value !== format.type || format.validate(value as never)
}

function textFormat(validate: (text: string) => boolean, longest = Number.POSITIVE_INFINITY): Format {
  return {
    type: 'string',
    validate: ((text: string) => text.length <= longest && validate(text)) as Format['validate'],
  }
}

/** The expression that ajv-formats has for this is quadratic, and refuses addresses in private networks. */
function isUrl(text: string): boolean {
  if (!/^(?:https?|ftp):\/\/[^\s/]/i.test(text) || /\s/.test(text)) return false
  return URL.canParse(text)
}
