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
  // Some write every `/` of JSON as `\/`, and with it those of a secret.
  const line = secrets.scrub(text.replaceAll('\\/', '/')).replaceAll(NOT_PRINTED, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST).toWellFormed()}…` : line
}
