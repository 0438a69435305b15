/** A sum that somebody put into words. */
export interface Arithmetic {
  readonly expression: string
  /** How the question is repeated before "is", and what stands before the result: a currency. */
  readonly phrase: string
  readonly currency: string
  /** Where it is plain enough to need no tool. */
  readonly result?: number
}

const NUMBER = String.raw`\d[\d,]*(?:\.\d+)?`
const OPENING =
  /^(?:please\s+)?(?:what(?:'s|’s| is| are)|how much is|calculate|compute|evaluate|work out|solve)\s+(?:the\s+)?/i
const PERCENT = new RegExp(
  `^(?:an?\\s+)?(${NUMBER})\\s*(?:%|percent)\\s*(?:(tip)\\s+(?:on|for)|of)\\s+([$€£]?)(${NUMBER})$`,
  'i',
)
const SMALL_SUM = /^(\d{1,2})\s*([-+])\s*(\d{1,2})$/
const IN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:the )?square root of\s+(\([^()]*\)|[\d.]+)/gi, 'sqrt($1)'],
  [/\s+plus\s+/gi, ' + '],
  [/\s+minus\s+/gi, ' - '],
  [/\s+(?:times|multiplied by)\s+/gi, ' * '],
  [/\s+(?:divided by|over)\s+/gi, ' / '],
  [/\s+(?:to the power of|raised to(?: the power(?: of)?)?)\s+/gi, ' ^ '],
  [/\s+squared\b/gi, '^2'],
  [/\s+cubed\b/gi, '^3'],
  [/[×·]/g, '*'],
  [/÷/g, '/'],
]
const EXPRESSION = /^[\d\s.+\-*/^()%,]*(?:(?:sqrt|sin|cos|tan|log|exp|abs)\([\d\s.+\-*/^()]+\)[\d\s.+\-*/^()]*)*$/i
/** Patterns take their time over long texts, and nobody puts so long a sum into words. */
const LONGEST = 300

/** The sum that is all of what was said; undefined where it is anything else. */
export function arithmeticIn(said: string): Arithmetic | undefined {
  if (said.length > LONGEST) return undefined
  const asked = said
    .trim()
    .replace(/[\s?.!=]+$/, '')
    .replace(OPENING, '')
  const percent = PERCENT.exec(asked)
  if (percent !== null) {
    const [, share = '', tip, currency = '', amount = ''] = percent
    const fraction = Number((plain(share) / 100).toPrecision(12))
    const phrase = `${share}% ${tip === undefined ? 'of' : 'tip on'} ${currency}${amount}`
    return { expression: `${plain(amount)} * ${fraction}`, phrase, currency }
  }
  const expression = IN_WORDS.reduce((text, [words, sign]) => text.replaceAll(words, sign), asked).trim()
  if (!EXPRESSION.test(expression) || !/\d/.test(expression) || !/[+\-*/^(]/.test(expression.slice(1))) return undefined
  if (/^\d{4}-\d{1,2}-\d{1,2}$/.test(expression)) return undefined
  const sum = SMALL_SUM.exec(expression)
  if (sum === null) return { expression, phrase: expression, currency: '' }
  const [, left = '', sign, right = ''] = sum
  const phrase = `${left} ${sign} ${right}`
  return { expression: phrase, phrase, currency: '', result: sign === '-' ? +left - +right : +left + +right }
}

const plain = (text: string): number => Number(text.replaceAll(',', ''))
