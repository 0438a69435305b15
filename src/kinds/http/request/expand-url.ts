import { splitAtVariables } from '../../../core/expand-variables.ts'

const PAST_HOST = /^[^/?#\\]*:\/\/[^/?#\\]*[/?#\\]/
/** A part of a path that is so long is a key rather than a name. */
const LONG_PART = 20

/** An address with its variables replaced, and which of what was put in is not for everybody's eyes. */
export interface ExpandedUrl {
  readonly text: string
  readonly secrets: readonly string[]
}

/**
 * Puts values for the variables of an address. What stands before the path may be a whole address, and is taken as it
 * is; behind that a value is data, and encoded. None of them can bring in a `{parameter}`.
 */
export function expandUrl(written: string, valueOfVariable: (name: string) => string): ExpandedUrl {
  const parts = splitAtVariables(written)
  const secrets: string[] = []
  let text = parts[0] ?? ''
  for (let at = 1; at < parts.length; at += 2) {
    const value = valueOfVariable(parts[at] ?? '').toWellFormed()
    const rest = parts[at + 1] ?? ''
    if (!PAST_HOST.test(text)) {
      secrets.push(...keysIn(value))
      text += withoutBraces(rest.startsWith('/') ? value.replace(/\/$/, '') : value)
    } else {
      secrets.push(value)
      text += text.includes('?') ? encodeURIComponent(value) : encodeURI(value).replace(/[?#]/g, encodeURIComponent)
    }
    text += rest
  }
  return { text, secrets }
}

/** An address without variables that has the same form: what can be checked before they are known. */
export function standInUrl(written: string): string {
  const parts = splitAtVariables(written)
  return parts.reduce((text, part, at) => {
    if (at % 2 === 0) return text + part
    if (text === '') return parts[at + 1]?.startsWith('://') ? 'https' : 'https://v.invalid'
    return text + (!PAST_HOST.test(text) && text.endsWith(':') ? '1' : 'v')
  }, '')
}

const withoutBraces = (value: string): string => value.replaceAll('{', '%7B').replaceAll('}', '%7D')

/** A webhook's whole address is in one variable, and its key is in the path. */
function keysIn(address: string): string[] {
  const [, path = '', query = ''] = /^[^/?#]*:\/\/[^/?#]*([^?#]*)\??([^#]*)/.exec(address) ?? []
  return [...path.split('/').filter((part) => part.length >= LONG_PART), ...new URLSearchParams(query).values()]
}
