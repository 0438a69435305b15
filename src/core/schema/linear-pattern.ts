import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { seemsLinear } from './schema-keywords.ts'

export interface Pattern {
  test(text: string): boolean
}

/** Matching takes at most text length × instructions steps. */
export interface LinearPattern extends Pattern {
  readonly instructions: number
  /** The source: Ajv identifies patterns by it. */
  toString(): string
}

/** Larger programs run in the child process. */
const MAX_INSTRUCTIONS = 1000

/** About a second of work. Longer texts don't match: they should run in the child process. */
const MAX_WORK = 20_000_000

// Syntax with another meaning in RE2.
const READ_DIFFERENTLY = /\(\?[^:<]|\\[AzQEC]|\[\^?\]|\[:\^?[a-z]+:\]/

const SPACE = '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const NOT_SPACE =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'

const known = new LRUCache<string, { readonly pattern: LinearPattern | undefined }>({ max: 500 })

/** Compiles a pattern for linear-time matching with JavaScript semantics; undefined if that isn't possible. */
export function linearPattern(source: string): LinearPattern | undefined {
  const found = known.get(source)
  if (found !== undefined) return found.pattern
  const pattern = compileLinear(source)
  known.set(source, { pattern })
  return pattern
}

function compileLinear(source: string): LinearPattern | undefined {
  if (!seemsLinear(source) || READ_DIFFERENTLY.test(source.replaceAll(/\\\\/g, '')) || !isPattern(source)) {
    return undefined
  }
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(withJavaScriptClasses(source)))
    const instructions = compiled.programSize()
    if (instructions > MAX_INSTRUCTIONS) return undefined
    const longest = MAX_WORK / instructions
    return { instructions, test: (text) => text.length <= longest && compiled.test(text), toString: () => source }
  } catch {
    return undefined
  }
}

/** Replaces `.` and `\s`, which match other characters in RE2. */
function withJavaScriptClasses(source: string): string {
  let text = ''
  let inClass = false
  for (let at = 0; at < source.length; at++) {
    const character = source[at] as string
    if (character === '\\') {
      const escaped = source[++at] ?? ''
      if (escaped === 's') text += inClass ? SPACE : `[${SPACE}]`
      else if (escaped === 'S') text += inClass ? NOT_SPACE : `[${NOT_SPACE}]`
      else text += character + escaped
    } else if (character === '.' && !inClass) {
      text += '[^\\n\\r\\x{2028}\\x{2029}]'
    } else {
      if (character === '[') inClass = true
      else if (character === ']') inClass = false
      text += character
    }
  }
  return text
}

/** The native RegExp, in Unicode mode if possible. */
export function nativePattern(source: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    return new RegExp(source)
  }
}

export function isPattern(source: string): boolean {
  try {
    nativePattern(source)
    return true
  } catch {
    return false
  }
}
