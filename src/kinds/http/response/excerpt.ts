import { isUtf8 } from 'node:buffer'
import type { HttpResponse } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'
import { contentTypeOf } from './content-type.ts'
import { decodeText } from './decode-text.ts'

const LONGEST = 200
/** As much as it takes to find the first characters behind blanks, and the end of a secret that begins in them. */
const LOOKED_AT = 8_192
const NOT_PRINTED = /[\s\p{C}]+/gu

/** The beginning of an answer for a sentence: one line, without secrets; nothing where it is no text. */
export function excerptOf({ body, headers }: HttpResponse, secrets: SecretValues): string {
  const { charset } = contentTypeOf(headers['content-type'])
  if (charset === undefined && !isUtf8(body)) return ''
  const text = decodeText(body.subarray(0, LOOKED_AT), charset) ?? ''
  const line = secrets.scrub(unescaped(text)).replaceAll(NOT_PRINTED, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST).toWellFormed()}…` : line
}

/** Any character of JSON can be written as an escape, and a `/` as `\/`: those of a secret too. */
const unescaped = (text: string): string =>
  text
    .replaceAll('\\/', '/')
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
