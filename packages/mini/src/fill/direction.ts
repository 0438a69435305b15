import { wordsOfName } from '../base/tool-text.ts'

/** A word before a value that says whose value it is, and the names of the parameters that it speaks for. */
interface Direction {
  readonly names: RegExp
  readonly before: RegExp
}

const ARTICLES = String.raw`(?:(?:the|my|this|words?|letters?|strings?|texts?|sentences?|account|airport)\s+)*["'“‘]?$`
const before = (words: string): RegExp => new RegExp(`\\b(?:${words})\\s+${ARTICLES}`, 'i')

/** Pairs of opposites: "from Rome to Paris", "replace a with o in banana". */
const PAIRS: readonly (readonly [Direction, Direction])[] = [
  [
    {
      names: /\b(?:from|source|src|origin|start|departure|depart|sender|base|pickup)\b/,
      before: before('from|leaving|between|since'),
    },
    {
      names: /\b(?:to|target|dest|destination|end|arrival|arrive|recipient|receiver)\b/,
      before: before('to|into|towards?|until|till'),
    },
  ],
  [
    { names: /\breplacement\b/, before: before('with|by') },
    { names: /^(?:text|string|sentence|word)$/, before: before('in|within|of|word|string|text|sentence') },
  ],
]
/** What is searched for in a text is neither the text nor its replacement. */
const SEARCHED = /^(?:search|find|old|piece)$/
/** Longer than the words before a value. */
const LOOK_BACK = 30

/** 1 if the word before a piece agrees with the name of the parameter, −1 if it says the opposite. */
export function directionFits(parameter: string, said: string, from: number): -1 | 0 | 1 {
  const words = wordsOfName(parameter)
  const text = said.slice(Math.max(0, from - LOOK_BACK), from)
  if (SEARCHED.test(words)) return PAIRS[1]?.some((one) => one.before.test(text)) ? -1 : 0
  for (const pair of PAIRS) {
    const own = pair.filter(({ names }) => names.test(words))
    if (own.length !== 1) continue
    const other = pair.find((one) => one !== own[0]) as Direction
    if (own[0]?.before.test(text)) return 1
    return other.before.test(text) ? -1 : 0
  }
  return 0
}
