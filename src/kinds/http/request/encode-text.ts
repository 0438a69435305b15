import { hasControlCharacter, isHeaderValue } from './control-characters.ts'
import { refusedParameter } from './refused-parameter.ts'

/** Writes a text so that it stays within its place in a request; throws where it cannot. */
export type EncodeText = (text: string, parameter: string) => string

/** What needs no encoding, and no look at its dots. */
const HARMLESS = /^[\w~-]+$/
const ENCODED = /%([0-7][0-9a-f])/gi
/** So many servers in a row may each decode what the one before has decoded. */
const MOST_ROUNDS = 4
/** As a whole part of a path; some servers read what stands behind `;` as a remark on it. */
const DOTS = /(?:^|[/\\])\.{1,2}(?:;[^/\\]*)?(?:$|[/\\])/

/** For a query or a form: everything that is no letter, digit or one of `-_.!~*'()` is encoded. */
export const encodeQuery: EncodeText = (text, parameter) => {
  try {
    return encodeURIComponent(text)
  } catch {
    // The only thing that it cannot encode.
    throw refusedParameter(parameter, text, 'must not hold half of a surrogate pair')
  }
}

/** For a path: always one part of it, or less. A `/` is encoded, and nothing leads to another part. */
export const encodePath: EncodeText = (text, parameter) => {
  if (HARMLESS.test(text)) return text
  if (hasControlCharacter(text)) throw withControlCharacter(text, parameter)
  if (DOTS.test(fullyDecoded(text))) {
    throw refusedParameter(parameter, text, 'must not be . or .. or lead to another place in the path')
  }
  return encodeQuery(text, parameter)
}

/** For a cookie. */
export const encodeCookie: EncodeText = (text, parameter) => {
  if (hasControlCharacter(text)) throw withControlCharacter(text, parameter)
  return encodeQuery(text, parameter)
}

/** For a header: as it is. */
export const encodeHeader: EncodeText = (text, parameter) => {
  if (isHeaderValue(text)) return text
  if (hasControlCharacter(text)) throw withControlCharacter(text, parameter)
  throw refusedParameter(parameter, text, 'must hold ASCII only, as it is sent in a header')
}

const withControlCharacter = (text: string, parameter: string) =>
  refusedParameter(parameter, text, 'must not hold a line end or another control character')

function fullyDecoded(text: string): string {
  let at = text
  for (let round = 0; round < MOST_ROUNDS && at.includes('%'); round++) {
    at = at.replace(ENCODED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  }
  return at
}
