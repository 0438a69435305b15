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
  /** Whether the message tells a story around the calculation, so that it may mean something else. */
  readonly story?: true
}

const OPENING =
  /^(?:(?:please|hey|ok|so|and|also|can (?:yo)?u|could (?:yo)?u|would (?:yo)?u|tell me)[\s,]+)*(?:(?:what(?:['’]?s| is| are)|how (?:much|fast|far|long|heavy|tall|high|big|hot|cold|warm) (?:is|are)|calculate|compute|evaluate|work out|solve)\s+)?(?:the\s+)?/i
const CURRENCY: readonly (readonly [RegExp, string])[] = [
  [/\$|\b(?:dollars?|bucks|usd)\b/gi, '$'],
  [/€|\b(?:euros?|eur)\b/gi, '€'],
  [/£|\b(?:quid|gbp)\b|(?<=\d )pounds?\b/gi, '£'],
]
const SMALL_SUM = /^(\d{1,2})\s*([-+])\s*(\d{1,2})$/
const PEOPLE = 'people|persons?|friends|guests|colleagues|kids|children|students|players|members|ways|of us|of them'

/** Words for signs and functions. The percent sign comes with what happens to the amount: `%-` takes the share off. */
const IN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:square )?root of\s+/gi, 'sqrt '],
  [/\bfactorial of\s+(\d+)/gi, '$1!'],
  [/(\d)\s+factorial\b/gi, '$1!'],
  [/\bwhat (?:percent(?:age)?|%|share|part) of\b|\bas a percent(?:age)? of\b/gi, ' ratio '],
  [/%\s*(?:of|tips? (?:on|for))(?= )/gi, '%* '],
  [/%\s*(?:off|discount|cheaper|less|lower|reduction|rebate|down)\b/gi, '%- '],
  [/%\s*(?:tips?|service|tax|vat|interest|surcharge|fees?|raise|more|extra|higher|up)\b/gi, '%+ '],
  [/\b(?:add(?:ed)? (?:up|together)|summed up|sum(?: up)?|total(?: of)?|altogether|in all)\b/gi, ' sum '],
  [/\b(?:average|mean)(?: of)?\b/gi, ' mean '],
  [/\bmedian(?: of)?\b/gi, ' median '],
  [/\bproduct of\b/gi, ' prod '],
  [/\b(?:maximum|highest|largest) of\b/gi, ' max '],
  [/\b(?:minimum|lowest|smallest) of\b/gi, ' min '],
  [
    /\b(?:plus|add(?:s|ed|ing)?|(?:go(?:es)?|went|going) up|r[io]ses?|rise|increase[sd]?|grows?|grew|gains?|raised)\b/gi,
    ' + ',
  ],
  [
    /\b(?:minus|subtract(?:ed)?|take(?: away)?|less|(?:go(?:es)?|went|going) down|drop(?:s|ped)?|falls?|fell|decrease[sd]?|reduced|spen[dt]|lo[so][et]|gave away|sold)\b/gi,
    ' - ',
  ],
  [/\b(?:times|multipl(?:y|ied)(?: by)?)\b|(?<=\d)\s*x\s*(?=\d)|[×·]/gi, ' * '],
  [/\b(?:divided?|shared?|split)(?: by)?\b|÷|(?<=\d )over\b/gi, ' / '],
  [/\b(?:among|between)\b/gi, ' ÷ '],
  [/\b(?:to the power of|raised to(?: the power(?: of)?)?)\b/gi, ' ^ '],
  [/\s?\bsquared\b/gi, '^2'],
  [/\s?\bcubed\b/gi, '^3'],
  [/\b(?:(?:one )?half|0\.5) of\b|\bhalf(?= \d)/gi, ' 0.5 * '],
  [/\b(?:a|one) third of\b/gi, ' 1/3 * '],
  [/\b(?:a|one) quarter of\b/gi, ' 0.25 * '],
  [/\b(?:double|twice)\b/gi, ' 2 * '],
]
/** A calculation in signs. A bracket closes at the first `)` after some text, so that there is only one reading. */
const EXPRESSION =
  /^[\d\s.+\-*/^()%,!]*(?:(?:sqrt|sin|cos|tan|log|exp|abs)\((?:[\d\s.+\-*/^()]+(?:deg|rad)\)|[\d\s.+\-*/^()][\d\s.+\-*/^(]*\))[\d\s.+\-*/^()]*)*$/i
/** Words that say nothing about the calculation. */
const EMPTY = new Set(
  'a an and are as be by can cost do does find for from get give i if in is it me my need of on percent please result s something that the then this to u up we what will with would you bill tip'.split(
    ' ',
  ),
)
const FUNCTION = /^(?:sum|mean|median|prod|max|min|ratio)$/
const ASKS = /\?|\b(?:how (?:much|many)|what|calculate|work out|sum|mean|each|per person)\b/i
const EACH = /\b(?:each|apiece|per (?:person|head)|everyone|everybody|one of us|\/)|\//i
/** The maximum length of a calculation in words. */
const LONGEST = 300

/** The calculation in a message; undefined if there is none, or if it leaves a number over. */
export function arithmeticIn(said: string): Arithmetic | undefined {
  if (said.length > LONGEST) return undefined
  const ended = said
    .trim()
    .replace(/(?<![\s?.!=])[\s?.!=]+$/, '')
    .replace(/(?<!!)!+$/, '')
  const written = said.trim().replace(/(?<![\s?.=])[\s?.=]+$/, '')
  const asked = (/\d!$/.test(written) ? written : ended).replace(OPENING, '')
  const conversion = conversionIn(inDigits(asked))
  if (conversion !== undefined) return { ...conversion, currency: '', units: true }
  const currency = CURRENCY.find(([words]) => asked.search(words) >= 0)?.[1] ?? ''
  const amounts = inDigits(CURRENCY.reduce((text, [words]) => text.replaceAll(words, ' '), asked))
  const signs = IN_WORDS.reduce((text, [words, sign]) => text.replaceAll(words, sign), amounts)
  return plainSum(signs) ?? inStory(signs, amounts, currency, ASKS.test(said))
}

function plainSum(signs: string): Arithmetic | undefined {
  const expression = signs
    .replaceAll(/sqrt ([\d.]+)/g, 'sqrt($1)')
    .replaceAll(/sqrt \(/g, 'sqrt(')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (!EXPRESSION.test(expression) || !/^[^*/^!,%]*\d/.test(expression) || !/[+\-*/^(!]/.test(expression.slice(1)))
    return undefined
  if (/%[-+*]|[-+*/^]$|^\+|^- /.test(expression) || /^\d{4}-\d{1,2}-\d{1,2}$/.test(expression)) return undefined
  const sum = SMALL_SUM.exec(expression)
  if (sum === null) return { expression, phrase: expression, currency: '' }
  const [, left = '', sign, right = ''] = sum
  const phrase = `${left} ${sign} ${right}`
  return { expression: phrase, phrase, currency: '', result: sign === '-' ? +left - +right : +left + +right }
}

const TOKEN = new RegExp(
  String.raw`(\d+(?:\.\d+)?(?:/3)?)\s*(?:(%[-+*]?)|(each|apiece|per (?:\p{L}+)|an? (?:hour|day|week|month|year|piece|kilo|night))\b|(${PEOPLE})\b)?|([-+*/^÷])|(\p{L}+)`,
  'giu',
)

/** Writes the calculation from left to right: each number changes what came before by the sign in front of it. */
function inStory(signs: string, amounts: string, currency: string, asks: boolean): Arithmetic | undefined {
  if (/\d{4}-\d{1,2}-\d/.test(signs)) return undefined
  const tokens = [...signs.matchAll(TOKEN)]
  const numbers = tokens.flatMap(([, number]) => number ?? [])
  const words = tokens.flatMap((token) => token[6]?.toLowerCase() ?? [])
  const story = words.some((word) => !EMPTY.has(word) && !FUNCTION.test(word))
  if (numbers.length < 2 || (story && !asks)) return undefined
  const of = (expression: string, phrase = 'That'): Arithmetic => ({
    expression,
    phrase,
    currency,
    ...(story && { story }),
  })
  const list = words.find((word) => FUNCTION.test(word) && word !== 'ratio')
  if (list !== undefined && tokens.every(([, , percent, rate, , sign]) => (percent ?? rate ?? sign) === undefined)) {
    const name = /\b(?:average|mean|median|sum|total|product|maximum|minimum)\b/i.exec(amounts)?.[0].toLowerCase()
    return of(`${list}(${numbers.join(', ')})`, name && `The ${name} of ${numbers.join(', ')}`)
  }
  if (words.includes('ratio')) {
    const [first, second] = numbers as [string, string]
    const whole = signs.indexOf('ratio') < signs.indexOf(first) ? first : second
    return numbers.length === 2 ? of(`${whole === first ? second : first} / ${whole} * 100`) : undefined
  }
  let total = ''
  let sign = ''
  let people = ''
  let from = false
  for (const [, number, percent, rate, heads, own, word] of tokens) {
    if (own === '÷' && total !== '') sign = '/'
    else if (own !== undefined && own !== '÷') sign = own
    if (word?.toLowerCase() === 'from' && total !== '') from = true
    if (number === undefined) continue
    const fraction = Number((Number(number) / 100).toPrecision(12))
    if (heads !== undefined && !(sign === '/' && total !== '')) people = number
    else if (percent === '%*' && total === '') [total, sign] = [String(fraction), '%']
    else if (percent !== undefined) {
      const change = percent.at(1) ?? sign
      if (total === '') [total, sign] = [factor(change, fraction), '%']
      else if (change === '+' || change === '-') [total, sign] = [`${grouped(total)} * ${factor(change, fraction)}`, '']
      else return undefined
    } else if (total === '') [total, sign] = [number, rate === undefined ? sign : '*']
    else if (sign === '%') [total, sign] = [`${number} * ${total}`, '']
    else if (rate !== undefined) [total, sign] = [`${grouped(total)} * ${number}`, '']
    else if (sign === '') return undefined
    else
      [total, sign, from] = [
        from && sign === '-' ? `${number} - ${grouped(total)}` : joined(total, sign, number),
        '',
        false,
      ]
  }
  if (people !== '' && !EACH.test(signs)) return undefined
  const expression = people === '' ? total : `${grouped(total)} / ${people}`
  if (!/[^\d.]/.test(expression) || sign === '%') return undefined
  const simple = /^([\d.]+)%\* +(?:an? )?([\d.]+)(?: bill)?\s*$/.exec(
    signs.replace(/^an? /i, '').replaceAll(/\s+/g, ' '),
  )
  const on = /%\s*tip/i.test(amounts) ? 'tip on' : 'of'
  return of(expression, simple === null ? (story ? 'That' : expression) : `${simple[1]}% ${on} ${currency}${simple[2]}`)
}

const factor = (change: string, fraction: number): string =>
  change === '+' || change === '-' ? `(1 ${change} ${fraction})` : String(fraction)
const grouped = (text: string): string => (/ [-+] /.test(text.replaceAll(/\([^()]*\)/g, '')) ? `(${text})` : text)
const joined = (total: string, sign: string, number: string): string =>
  `${sign === '+' || sign === '-' ? total : grouped(total)} ${sign} ${number}`

/** "twelve times seven" with its numbers in digits, without separators of thousands. */
function inDigits(text: string): string {
  return numbersIn(text).reduceRight(
    (whole, { from, to, value, percent }) => `${whole.slice(0, from)}${value}${percent ? '%' : ''}${whole.slice(to)}`,
    text,
  )
}

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
