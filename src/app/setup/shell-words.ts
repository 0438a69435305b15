import { SetupError } from './setup-error.ts'

/** The escapes of `$'…'` that stand for one character. */
const ESCAPED: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
const CODE = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|(.))/gs

/** What a shell word can begin with. The last one takes a single character. */
const PIECE =
  /(\\\r?\n)|(\s+)|'([^']*)'|\$'((?:\\.|[^'\\])*)'|\$?"((?:\\.|[^"\\])*)"|\\(.)|\$\{?([A-Za-z_]\w*)\}?|(.)/gsy

/**
 * Splits a command as a POSIX shell does, without running anything: `$NAME` becomes `${NAME}`. Ends at a pipe or a
 * redirection. Throws if the command has more than one, or a substitution.
 */
export function shellWords(command: string): { readonly words: string[]; readonly rest: boolean } {
  if (/\^[\r\n]|\^"/.test(command)) {
    throw new SetupError(422, 'This is a command for cmd.exe: copy it as curl for bash')
  }
  const words: string[] = []
  let word: string | undefined
  for (const match of command.trim().matchAll(PIECE)) {
    const [whole, joined, space, single, coded, double, escaped, variable, other] = match
    if (joined !== undefined) continue
    if (space !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
      continue
    }
    if (other !== undefined && /[|<>;`()'"\n]|\$/.test(other)) {
      const isEnd = /[|<>]/.test(other)
      if (!isEnd) throw unreadable(other)
      if (word !== undefined) words.push(word)
      return { words, rest: true }
    }
    const text: string = single ?? escaped ?? other ?? ''
    word ??= ''
    if (coded !== undefined) word += decoded(coded)
    else if (double !== undefined) word += unquoted(double)
    else word += variable === undefined ? text : `\${${variable}}`
    if (whole === '&' && word === '&') return { words, rest: true }
  }
  if (word !== undefined) words.push(word)
  return { words, rest: false }
}

function unreadable(found: string): SetupError {
  const problem = /['"]/.test(found) ? `A quote ${found} isn't closed` : `"${found}" in the command isn't supported`
  return new SetupError(422, `${problem}: paste one curl command, without other programs`)
}

/** Inside double quotes a backslash escapes only these. */
function unquoted(text: string): string {
  return text.replace(/\\([$`"\\])|\\\r?\n|\$\{?([A-Za-z_]\w*)\}?|`|\$\(/g, (whole, escaped, variable) => {
    if (escaped !== undefined) return escaped
    if (variable !== undefined) return `\${${variable}}`
    if (whole.startsWith('\\')) return ''
    throw unreadable(whole)
  })
}

function decoded(text: string): string {
  return text.replace(CODE, (_, hex, four, eight, octal, other) => {
    const digits = hex ?? four ?? eight
    const code = octal === undefined ? Number.parseInt(digits ?? '', 16) : Number.parseInt(octal, 8)
    if (Number.isNaN(code)) return ESCAPED[other] ?? other
    return code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
}
