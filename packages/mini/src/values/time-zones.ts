import { codesIn, type FoundValue } from './codes.ts'
import { stateOfCity } from './places.ts'

/** Large cities without a time zone of their name, by time zone. */
const CITIES: Readonly<Record<string, string>> = {
  'Asia/Shanghai': 'beijing|shenzhen|guangzhou',
  'Asia/Kolkata': 'mumbai|delhi|new delhi|bangalore|bengaluru|chennai|hyderabad|kolkata',
  'Asia/Tokyo': 'osaka|kyoto',
  'Asia/Ho_Chi_Minh': 'hanoi|saigon|ho chi minh city',
  'Asia/Dubai': 'abu dhabi',
  'Asia/Jerusalem': 'tel aviv',
  'Asia/Kathmandu': 'kathmandu',
  'Europe/Kyiv': 'kyiv|kiev',
  'Europe/Berlin': 'munich|hamburg|frankfurt|cologne|stuttgart',
  'Europe/Madrid': 'barcelona|seville|valencia',
  'Europe/Rome': 'milan|naples|venice|florence|turin',
  'Europe/Paris': 'lyon|marseille|nice',
  'Europe/London': 'manchester|edinburgh|liverpool|england|scotland|wales',
  'Europe/Zurich': 'geneva|basel|bern',
  'Europe/Moscow': 'saint petersburg|st. petersburg',
  'Europe/Istanbul': 'ankara',
  'America/Toronto': 'montreal|ottawa',
  'America/Sao_Paulo': 'são paulo|rio de janeiro|rio|brasília',
  'America/Argentina/Buenos_Aires': 'buenos aires',
  'Africa/Johannesburg': 'cape town|durban',
  'Africa/Casablanca': 'marrakesh|rabat',
  'Australia/Sydney': 'canberra',
  'Pacific/Auckland': 'wellington',
  UTC: 'utc|gmt',
}
/** The zone that most of a state of the US is in. */
const STATES: Readonly<Record<string, string>> = {
  'America/New_York': 'CT DC FL GA IN KY MA MD MI NC NJ NY OH PA RI VA',
  'America/Chicago': 'AL IA IL LA MN MO NE OK TN TX WI',
  'America/Denver': 'CO ID NM UT',
  'America/Phoenix': 'AZ',
  'America/Los_Angeles': 'CA NV OR WA',
  'America/Anchorage': 'AK',
  'Pacific/Honolulu': 'HI',
}
const WANTED = /\b(?:IANA|iana)\b|\b[A-Z][a-z]+\/[A-Z][a-z]+/
const WORDS = /[\p{L}\p{M}.'’-]+/gu
/** Words before a place; without them a name must be capitalized. */
const PLACE_BEFORE = /(?:^|\b(?:in|at|for|of|from|to|and|or|about)\s+(?:the\s+)?|,\s*)$/i
/** Longer than the words before and any space after them. */
const LOOK_BACK = 100
/** Islands with names of days. */
const DAYS = /\/(?:Christmas|Easter)$/
const MAX_NAME_WORDS = 3
let zones: Map<string, string> | undefined

/** Whether a parameter wants a time zone by its name in the database. */
export const wantsTimeZone = (name: string, description: string): boolean =>
  /time ?zone/i.test(`${name.replaceAll('_', ' ')} ${description.slice(0, 60)}`) && WANTED.test(description)

/** The IANA time zone that is named after a city, or that a large city or a country is in. */
export function timeZoneOf(place: string): string | undefined {
  const name = place.trim().toLowerCase()
  zones ??= named()
  return zones.get(name) ?? zoneOfState(stateOfCity(name))
}

/** The time zones of the places in a message. */
export function timeZonesIn(said: string): FoundValue[] {
  const found: FoundValue[] = [...said.matchAll(/\b[A-Z][A-Za-z]+(?:\/[A-Z][A-Za-z_-]+){1,2}/g)].flatMap(
    ({ index, 0: text }) => one(index, text.length, timeZoneOf(text)),
  )
  const words = [...said.matchAll(WORDS)].map(({ index, 0: word }) => ({ from: index, to: index + word.length }))
  for (const [at, { from }] of words.entries()) {
    if (from < (found.at(-1)?.to ?? 0) || !isName(said, from)) continue
    const ends = words.slice(at, at + MAX_NAME_WORDS).map(({ to }) => to)
    const place = ends
      .reverse()
      .flatMap((to) => one(from, to - from, timeZoneOf(said.slice(from, to).replace(/['’]s$|\.$/, ''))))
    found.push(...place.slice(0, 1))
  }
  const countries = codesIn('country', said).flatMap(({ from, to, value }) =>
    one(from, to - from, zoneOfCountry(value)),
  )
  return [...found, ...countries.filter((each) => !found.some(({ from, to }) => from < each.to && each.from < to))]
}

const one = (from: number, length: number, value: string | undefined): FoundValue[] =>
  value === undefined ? [] : [{ from, to: from + length, value }]

const isName = (said: string, at: number): boolean =>
  /\p{Lu}/u.test(said[at] as string) || PLACE_BEFORE.test(said.slice(Math.max(0, at - LOOK_BACK), at))

function named(): Map<string, string> {
  const cities = Object.entries(CITIES).flatMap(([zone, names]) =>
    names.split('|').map((name): [string, string] => [name, zone]),
  )
  const known = Intl.supportedValuesOf('timeZone')
    .filter((zone) => !DAYS.test(zone))
    .map((zone): [string, string] => [(zone.split('/').at(-1) as string).replaceAll('_', ' ').toLowerCase(), zone])
  const whole = [...known, ...cities].map(([, zone]): [string, string] => [zone.toLowerCase(), zone])
  return new Map([...whole, ...known, ...cities])
}

const zoneOfState = (state: string | undefined): string | undefined =>
  state === undefined ? undefined : Object.entries(STATES).find(([, codes]) => codes.includes(state))?.[0]

/** Only if a country has one time. */
function zoneOfCountry(code: string): string | undefined {
  const at = new Date()
  const day = at.toISOString().slice(0, 10)
  if (countries.day !== day) countries = { day, zones: new Map() }
  if (!countries.zones.has(code)) countries.zones.set(code, onlyZone(code, at))
  return countries.zones.get(code)
}

/** Asking the runtime for the time in all zones of a country is expensive. */
let countries = { day: '', zones: new Map<string, string | undefined>() }

function onlyZone(code: string, at: Date): string | undefined {
  const locale: Intl.Locale & { getTimeZones?(): string[] } = new Intl.Locale(`und-${code}`)
  const all = locale.getTimeZones?.() ?? []
  const times = new Set(all.map((timeZone) => at.toLocaleString('en', { timeZone })))
  return times.size === 1 ? all[0] : undefined
}
