import { RE2JS } from 're2js'
import { linearPattern, type Pattern } from '../core/schema/linear-pattern.ts'

const LITERAL = /^\/(?<source>.+)\/(?<flags>[a-z]*)$/s

const FLAGS: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  u: 0,
  // Irrelevant for a single test.
  d: 0,
  g: 0,
  y: 0,
}

/** About one second at worst, or 400,000 characters with a typical pattern. Longer texts don't match. */
const MAX_WORK = 20_000_000

const LINE_END = /[\r\u2028\u2029]/g
const BLANK = /[\v\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]/g

/**
 * Compiles a literal such as `/(weather|forecast)/i` to a linear-time pattern. Throws a `SyntaxError` that completes a
 * sentence about the literal.
 */
export function intentPattern(literal: string): Pattern {
  const { source, flags = '' } = LITERAL.exec(literal)?.groups ?? {}
  if (source === undefined) throw new SyntaxError('isn\'t a regular expression: write it as "/(weather|forecast)/i"')
  const unknown = [...flags].find((flag) => !Object.hasOwn(FLAGS, flag))
  if (unknown !== undefined) throw new SyntaxError(`has the unknown flag '${unknown}': use i, m, s or u`)
  checkSyntax(source, flags)
  const compiled = linearPattern(source) && compile(source, flags)
  if (compiled === undefined) {
    throw new SyntaxError(
      'cannot be matched in bounded time: write it without lookahead, lookbehind, backreferences and large repetitions',
    )
  }
  // RE2 knows fewer spaces and line breaks than JavaScript.
  const longest = MAX_WORK / compiled.programSize()
  return {
    test: (text) => text.length <= longest && compiled.test(text.replace(LINE_END, '\n').replace(BLANK, ' ')),
  }
}

function checkSyntax(source: string, flags: string): void {
  try {
    new RegExp(source, flags)
  } catch (error) {
    const [, reason] = /^.*: (.+)$/s.exec(error instanceof Error ? error.message : '') ?? []
    throw new SyntaxError(`isn't a regular expression: ${reason ?? 'check its brackets and flags'}`, { cause: error })
  }
}

function compile(source: string, flags: string): RE2JS | undefined {
  const bits = [...flags].reduce((sum, flag) => sum | (FLAGS[flag] ?? 0), 0)
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source), bits)
  } catch {
    return undefined
  }
}
