import { sameMeasure, unitNamed } from './measures.ts'
import { numbersIn } from './numbers-in.ts'

/** A calculation in words. */
export interface Arithmetic {
  readonly expression: string
  /** The question as repeated before "is", and the currency before the result. */
  readonly phrase: string
  readonly currency: string
  /** Set if it is simple enough to need no tool. */
  readonly result?: number
  /** Whether it contains units, which not every calculator supports. */
  readonly units?: true
}

const NUMBER = String.raw`\d[\d,]*(?:\.\d+)?`
const OPENING =
  /^(?:(?:please|hey|ok|so|and|can you|could you|would you|tell me)[\s,]+)*(?:(?:what(?:['’]?s| is| are)|how much (?:is|are)|calculate|compute|evaluate|work out|solve)\s+)?(?:the\s+)?/i
const PERCENT = new RegExp(
  `^(?:an?\\s+)?(${NUMBER})\\s*(?:%|percent|per cent)\\s*(?:(tip)\\s+(?:on|for)|of)\\s+(?:a\\s+)?([$€£]?)(${NUMBER})(?:\\s*(dollars?|euros?|pounds?)|\\s+bill)*$`,
  'i',
)
const SIGNS: Readonly<Record<string, string>> = { dollar: '$', euro: '€', pound: '£' }
const SMALL_SUM = /^(\d{1,2})\s*([-+])\s*(\d{1,2})$/
const IN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:the )?square root of\s+(\([^()]*\)|[\d.]+)/gi, 'sqrt($1)'],
  [/\b(?:the )?(?:sqrt|root) of\s+([\d.]+)/gi, 'sqrt($1)'],
  [/\b(?:the )?factorial of\s+(\d+)/gi, '$1!'],
  [/(\d)\s+factorial\b/gi, '$1!'],
  [/^add\s+([\d.]+)\s+(?:and|to|plus)\s+([\d.]+)$/gi, '$1 + $2'],
  [/^subtract\s+([\d.]+)\s+from\s+([\d.]+)$/gi, '$2 - $1'],
  [/^multiply\s+([\d.]+)\s+(?:and|by|with|times)\s+([\d.]+)$/gi, '$1 * $2'],
  [/^divide\s+([\d.]+)\s+by\s+([\d.]+)$/gi, '$1 / $2'],
  [/(?<!\s)\s+plus\s+/gi, ' + '],
  [/(?<!\s)\s+minus\s+/gi, ' - '],
  [/(?<!\s)\s+(?:times|multiplied by)\s+/gi, ' * '],
  [/(\d)\s*x\s*(?=\d)/gi, '$1 * '],
  [/(?<!\s)\s+(?:divided by|over)\s+/gi, ' / '],
  [/(?<!\s)\s+(?:to the power of|raised to(?: the power(?: of)?)?)\s+/gi, ' ^ '],
  [/(?<!\s)\s+squared\b/gi, '^2'],
  [/(?<!\s)\s+cubed\b/gi, '^3'],
  [/[×·]/g, '*'],
  [/÷/g, '/'],
]
const FUNCTIONS: Readonly<Record<string, string>> = {
  average: 'mean',
  mean: 'mean',
  median: 'median',
  sum: 'sum',
  product: 'prod',
  maximum: 'max',
  minimum: 'min',
}
const OF_LIST = new RegExp(
  `^(${Object.keys(FUNCTIONS).join('|')}) of\\s+([\\d.]+(?:(?:\\s*,\\s*(?:and\\s+)?|\\s+and\\s+|\\s+)-?[\\d.]+)+)$`,
  'i',
)
/** A bracket closes at the first `)` after some text, so that a calculation has only one reading. */
const EXPRESSION =
  /^[\d\s.+\-*/^()%,!]*(?:(?:sqrt|sin|cos|tan|log|exp|abs)\((?:[\d\s.+\-*/^()]+(?:deg|rad)\)|[\d\s.+\-*/^()][\d\s.+\-*/^(]*\))[\d\s.+\-*/^()]*)*$/i
/** The maximum length of a calculation in words. */
const LONGEST = 300

/** The calculation, if the message is nothing else; otherwise undefined. */
export function arithmeticIn(said: string): Arithmetic | undefined {
  if (said.length > LONGEST) return undefined
  const ended = said
    .trim()
    .replace(/(?<![\s?.!=])[\s?.!=]+$/, '')
    .replace(/(?<!!)!+$/, '')
  const written = said.trim().replace(/(?<![\s?.=])[\s?.=]+$/, '')
  const asked = inDigits((/\d!$/.test(written) ? written : ended).replace(OPENING, ''))
  const conversion = conversionIn(asked)
  if (conversion !== undefined) return { ...conversion, currency: '', units: true }
  const list = OF_LIST.exec(asked)
  if (list !== null) {
    const numbers = [...(list[2] as string).matchAll(/-?\d+(?:\.\d+)?/g)].join(', ')
    const expression = `${FUNCTIONS[(list[1] as string).toLowerCase()]}(${numbers})`
    return { expression, phrase: `The ${list[1]?.toLowerCase()} of ${numbers}`, currency: '' }
  }
  return percentOf(asked) ?? plainSum(asked)
}

function percentOf(asked: string): Arithmetic | undefined {
  const percent = PERCENT.exec(asked)
  if (percent === null) return undefined
  const [, share = '', tip, sign = '', amount = '', money = ''] = percent
  const currency = sign || (SIGNS[money.toLowerCase().replace(/s$/, '')] ?? '')
  const fraction = Number((plain(share) / 100).toPrecision(12))
  const phrase = `${share}% ${tip === undefined ? 'of' : 'tip on'} ${currency}${amount}`
  return { expression: `${plain(amount)} * ${fraction}`, phrase, currency }
}

function plainSum(asked: string): Arithmetic | undefined {
  const expression = IN_WORDS.reduce((text, [words, sign]) => text.replaceAll(words, sign), asked).trim()
  if (!EXPRESSION.test(expression) || !/\d/.test(expression) || !/[+\-*/^(!]/.test(expression.slice(1)))
    return undefined
  if (/^\d{4}-\d{1,2}-\d{1,2}$/.test(expression)) return undefined
  const sum = SMALL_SUM.exec(expression)
  if (sum === null) return { expression, phrase: expression, currency: '' }
  const [, left = '', sign, right = ''] = sum
  const phrase = `${left} ${sign} ${right}`
  return { expression: phrase, phrase, currency: '', result: sign === '-' ? +left - +right : +left + +right }
}

/** Whether a text can be calculated: it has a number and an operation. */
export const isExpression = (text: string): boolean => /\d/.test(text) && /[^\d\s.,]/.test(text)

/** "twelve times seven" with its numbers in digits. */
function inDigits(text: string): string {
  return numbersIn(text)
    .filter(({ from, to }) => /^[a-z]/i.test(text.slice(from, to)))
    .reduceRight((whole, { from, to, value, percent }) => {
      // The sign of a percentage stays.
      return percent ? whole : whole.slice(0, from) + value + whole.slice(to)
    }, text)
}

const plain = (text: string): number => Number(text.replaceAll(',', ''))

/** A unit conversion as an expression, and the question as repeated. */
interface Conversion {
  readonly expression: string
  readonly phrase: string
}

const SIGNED_NUMBER = String.raw`-?\d+(?:,\d{3})*(?:\.\d+)?`
const UNIT = String.raw`[°\p{L}][\p{L}°/ ]{0,24}?`
/** "5 miles to km", "convert 100 °F into Celsius". */
const INTO = new RegExp(
  `^(?:convert\\s+|change\\s+|turn\\s+)?(${SIGNED_NUMBER})\\s*(${UNIT})\\s+(?:to|in|into|as)\\s+(${UNIT})$`,
  'iu',
)
/** "how many cm is 5 inches", "how many minutes are there in a day". */
const HOW_MANY = new RegExp(
  `^how (?:many|much)\\s+(${UNIT})\\s+(?:is|are|in|make|makes|are there in|are in|is in|does)\\s+(?:there in\\s+)?(${SIGNED_NUMBER}|an?|one)\\s*(${UNIT})(?:\\s+(?:have|has))?$`,
  'iu',
)

/** The conversion, if the message is nothing else; otherwise undefined. */
export function conversionIn(asked: string): Conversion | undefined {
  const into = INTO.exec(asked)
  if (into !== null) return conversion(into[1] as string, into[2] as string, into[3] as string)
  const many = HOW_MANY.exec(asked)
  return many === null ? undefined : conversion(many[2] as string, many[3] as string, many[1] as string)
}

function conversion(amount: string, from: string, to: string): Conversion | undefined {
  const [unit, wanted] = [unitNamed(from), unitNamed(to)]
  if (unit === undefined || wanted === undefined || unit === wanted || !sameMeasure(unit, wanted)) return undefined
  const number = /^\p{L}/u.test(amount) ? '1' : amount.replaceAll(',', '')
  return { expression: `${number} ${unit} to ${wanted}`, phrase: `${number} ${from.trim()}` }
}
