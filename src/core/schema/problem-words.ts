import { canonicalText } from './canonical-text.ts'
import { typesInWords } from './json-type.ts'

const LONGEST_VALUE = 80
const MOST_VALUES = 20

/** The words for a rule that a value breaks, after its path: `must be at least 0`. */
export function ruleInWords(rule: string, expected: unknown): string {
  switch (rule) {
    case 'type':
      return `must be ${typesInWords(Array.isArray(expected) ? expected : [expected])}`
    case 'enum':
      return `must be one of: ${valuesInWords(Array.isArray(expected) ? expected : [expected])}`
    case 'const':
      return `must be ${valueInWords(expected)}`
    case 'format':
      return `must match format "${shortened(String(expected))}"`
    case 'pattern':
      return `must match pattern "${shortened(String(expected))}"`
    case 'minimum':
      return `must be at least ${expected}`
    case 'maximum':
      return `must be at most ${expected}`
    case 'exclusiveMinimum':
      return `must be more than ${expected}`
    case 'exclusiveMaximum':
      return `must be less than ${expected}`
    case 'multipleOf':
      return `must be a multiple of ${expected}`
    case 'minLength':
      return `must have at least ${counted(expected, 'character')}`
    case 'maxLength':
      return `must have at most ${counted(expected, 'character')}`
    case 'minItems':
      return `must have at least ${counted(expected, 'item')}`
    case 'maxItems':
      return `must have at most ${counted(expected, 'item')}`
    case 'uniqueItems':
      return 'must not hold the same item twice'
    case 'minProperties':
      return `must have at least ${counted(expected, 'entry')}`
    case 'maxProperties':
      return `must have at most ${counted(expected, 'entry')}`
    default:
      return 'is not allowed'
  }
}

/** Values in a row, the first twenty of them. */
export function valuesInWords(values: readonly unknown[]): string {
  const shown = values.slice(0, MOST_VALUES).map(valueInWords).join(', ')
  return values.length > MOST_VALUES ? `${shown} and ${values.length - MOST_VALUES} more` : shown
}

/** One value: a string as it is, anything else as JSON, cut where it is long. */
export function valueInWords(value: unknown): string {
  return shortened(typeof value === 'string' ? value : canonicalText(value))
}

/** What a rule expects, fit to be sent: a value as it is where it is short, at most a hundred of several. */
export function boundedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 100).map(boundedText)
  return boundedText(value)
}

function boundedText(value: unknown): unknown {
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return value
  const text = valueInWords(value)
  return text.length < LONGEST_VALUE ? value : text
}

/** A number of things: `1 item`, `2 entries`. */
export function counted(number: unknown, thing: string): string {
  return `${number} ${number === 1 ? thing : thing.endsWith('y') ? `${thing.slice(0, -1)}ies` : `${thing}s`}`
}

/** Text cut to a length fit for a message, on one line. */
export function shortened(text: string): string {
  const cut = text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a message is one line whatever the schema holds
  return cut.replaceAll(/[\u0000-\u001f\u007f]/g, ' ')
}
