import type { Params } from '../../core/tool.ts'

/** One thing that the demo model can do. */
export interface DemoRule {
  readonly pattern: RegExp
  /** The tools that can do it, of which the first one offered is called; absent where no tool is needed. */
  readonly tools?: readonly string[]
  /** The parameters of each call; none where the question turns out to be none of this rule's business. */
  readonly calls?: (match: readonly string[]) => readonly Params[]
  /** What is said: of the question alone where there is no tool, else of the result of each call. */
  readonly sentence: (match: readonly string[], result: Params, params: Params) => string
}

/** The rules, of which the first that matches counts. Groups of a pattern are 1, 2, …; case does not count. */
export const demoRules: readonly DemoRule[] = [
  {
    pattern: /\b(?:weather|temperature)\b.*?\b(?:in|for|at|of)\s+(.+?)(\s+in\s+(?:fahrenheit|celsius))?$/i,
    tools: ['get_weather'],
    calls: ([, places = '', units = '']) =>
      places.split(/\s*(?:,\s*and|\band\b|&)\s+/).map((location) => ({
        location,
        ...(units !== '' && { units: units.trim().slice(3).toLowerCase() }),
      })),
    sentence: (_, { condition, temperature, humidity }, { location, units }) => {
      const parts = [
        condition,
        temperature !== undefined && `${temperature} °${units === 'fahrenheit' ? 'F' : 'C'}`,
        humidity !== undefined && `with ${humidity}% humidity`,
      ]
      return `In ${location} it is ${parts.filter(Boolean).join(', ')}.`
    },
  },
  {
    pattern: /(\d+(?:\.\d+)?)\s*%\s*(?:(tip)\s+on|of)\s+(\$?)(\d+(?:\.\d+)?)$/i,
    tools: ['calculate'],
    calls: ([, percent, , , amount]) => [{ expression: `${amount} * ${percent} / 100` }],
    sentence: ([, percent, tip, currency, amount], { result }) =>
      `${percent}% ${tip ? 'tip on' : 'of'} ${currency}${amount} is ${currency}${result}.`,
  },
  {
    // Sums of two small numbers need no tool.
    pattern: /^(?:what(?:'s|’s| is)\s+)?(\d{1,2})\s*([-+])\s*(\d{1,2})$/i,
    sentence: ([, left = '', sign = '', right = '']) =>
      `${left} ${sign} ${right} is ${sign === '-' ? +left - +right : +left + +right}.`,
  },
  {
    pattern:
      /^(?:what(?:'s|’s| is)|calculate|compute|evaluate)\s+(?:the\s+)?(square root of\s+)?([-\d(.]|(?:sqrt|sin|cos|tan|log|exp|abs)\()(.*)$/i,
    tools: ['calculate'],
    calls: ([, root, first = '', rest = '']) => [{ expression: root ? `sqrt(${first}${rest})` : `${first}${rest}` }],
    sentence: (_, { result }, { expression }) => `${expression} is ${result}.`,
  },
  {
    pattern:
      /\b(?:search|find|look\s+(?:up|for))\b(?:.*?\bfor)?\s+(.+?)(?:\s+in\s+(?:the|your)\s+\w+)?$|\bdocs\b.*?\babout\s+(.+)$/i,
    tools: ['search_documents', 'search_docs'],
    calls: ([, wanted, about]) => [{ query: wanted ?? about }],
    sentence: (_, { results }, { query }) => {
      const passages = (Array.isArray(results) ? results : []) as { text?: string; source?: string }[]
      if (passages.length === 0) return `I found nothing about "${query}" in the documents.`
      const sources = [...new Set(passages.map(({ source }) => source))].join(', ')
      const best = passages[0]?.text?.replaceAll(/\s+/g, ' ').slice(0, 200)
      return `About "${query}" I found ${passages.length} passage(s), in ${sources}. The best begins: ${best}`
    },
  },
  {
    pattern:
      /^(?:what|which|tell)\b.*?\b(?:time|date|day)\b(?:\s+is\s+(?:it|today))?(?:\s+in\s+(.+?))?(?:\s+(?:right\s+)?(?:now|today))?$/i,
    tools: ['datetime'],
    calls: ([, place]) => {
      const timezone = place === undefined ? 'UTC' : timeZoneOf(place)
      return timezone === undefined ? [] : [{ operation: 'now', timezone }]
    },
    sentence: (_, { weekday, date, time }, { timezone }) => `It is ${weekday}, ${date}, ${time} (${timezone}).`,
  },
  {
    pattern: /^how\s+many\s+["'“]?(\S+?)["'”]?(?:['’]?s)?\s+(?:are\s+)?(?:there\s+)?in\s+["'“]?(.+?)["'”]?$/i,
    tools: ['string'],
    calls: ([, search = '', text = '']) => [
      /^(?:letter|character)s?$/i.test(search) ? { operation: 'length', text } : { operation: 'count', text, search },
    ],
    sentence: ([, search, text], { result }) => `"${text}" has ${result} × ${search}.`,
  },
  {
    pattern: /^echo\s+(.+)$/i,
    tools: ['echo'],
    calls: ([, text]) => [{ text }],
    sentence: (_, { echo }) => `The tool gave back ${JSON.stringify(echo)}.`,
  },
]

/** The time zone that is named after a city. */
const timeZoneOf = (place: string): string | undefined =>
  Intl.supportedValuesOf('timeZone').find((zone) =>
    zone.toLowerCase().endsWith(`/${place.toLowerCase().replaceAll(' ', '_')}`),
  )
