import formats, { type FormatName } from 'ajv-formats'
import { foreignText } from '../json/json-depth.ts'
import { isPattern } from './linear-pattern.ts'

interface Format {
  readonly type: 'string' | 'number'
  readonly validate: (value: never) => boolean
}

const ANY = Number.POSITIVE_INFINITY

/** The formats that are checked. Valid texts are never longer: that skips expensive matching of long ones. */
const MAX_LENGTH: Readonly<Record<FormatName, number>> = {
  ...{ date: 10, time: 64, 'date-time': 80, 'iso-time': 64, 'iso-date-time': 80, duration: 256 },
  ...{ email: 320, hostname: 254, ipv4: 15, ipv6: 45, uuid: 45, regex: 65_536 },
  ...{ uri: ANY, 'uri-reference': 65_536, 'uri-template': 65_536, url: ANY },
  ...{ 'json-pointer': 65_536, 'json-pointer-uri-fragment': 65_536, 'relative-json-pointer': 65_536 },
  ...{ byte: ANY, binary: ANY, password: ANY, int32: ANY, int64: ANY, float: ANY, double: ANY },
}

/** Unknown names are annotations. */
export const FORMATS: ReadonlyMap<string, Format> = new Map(
  Object.entries(MAX_LENGTH).flatMap(([name, maxLength]): [string, Format][] => {
    const text = (validate: (text: string) => boolean): [string, Format][] => [[name, textFormat(validate, maxLength)]]
    if (name === 'regex') return text(isPattern)
    if (name === 'url') return text(isUrl)
    const definition = formats.default.get(name as FormatName)
    if (definition instanceof RegExp) return text((value) => definition.test(value))
    if (typeof definition === 'function') return text(definition)
    if (typeof definition !== 'object' || !('validate' in definition)) return []
    const { type, validate } = definition as { type?: string; validate: (value: never) => boolean }
    return type === 'number' ? [[name, { type, validate }]] : text(validate as (text: string) => boolean)
  }),
)

/** Values of other types and unknown formats are valid. */
export function hasFormat(value: unknown, name: unknown): boolean {
  const format = FORMATS.get(foreignText(name))
  return format === undefined || typeof value !== format.type || format.validate(value as never)
}

function textFormat(validate: (text: string) => boolean, maxLength: number): Format {
  return {
    type: 'string',
    validate: ((text: string) => text.length <= maxLength && validate(text)) as Format['validate'],
  }
}

/** ajv-formats has a quadratic pattern that also rejects private addresses. */
function isUrl(text: string): boolean {
  if (!/^(?:https?|ftp):\/\/[^\s/]/i.test(text) || /\s/.test(text)) return false
  return URL.canParse(text)
}
