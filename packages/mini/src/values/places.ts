/** Large cities of the United States, each with its state, for parameters that want both. */
const STATES: Readonly<Record<string, string>> = {
  AK: 'Anchorage|Juneau',
  AL: 'Birmingham|Montgomery',
  AZ: 'Phoenix|Tucson|Scottsdale|Mesa',
  CA: 'Los Angeles|San Francisco|San Diego|San Jose|Sacramento|Oakland|Berkeley|Fresno|Palo Alto|Mountain View|Santa Clara|Long Beach|Santa Monica|Anaheim|Irvine|Cupertino|Sunnyvale|Riverside',
  CO: 'Denver|Boulder|Aurora|Colorado Springs',
  CT: 'Hartford|New Haven',
  DC: 'Washington|Washington D.C.|Washington DC',
  FL: 'Miami|Orlando|Tampa|Jacksonville|Tallahassee|Fort Lauderdale',
  GA: 'Atlanta|Savannah',
  HI: 'Honolulu',
  IA: 'Des Moines',
  ID: 'Boise',
  IL: 'Chicago|Springfield',
  IN: 'Indianapolis',
  KY: 'Louisville|Lexington',
  LA: 'New Orleans|Baton Rouge',
  MA: 'Boston|Cambridge|Worcester',
  MD: 'Baltimore|Annapolis',
  MI: 'Detroit|Ann Arbor|Grand Rapids',
  MN: 'Minneapolis|St. Paul',
  MO: 'Kansas City|St. Louis',
  NC: 'Charlotte|Raleigh|Durham',
  NE: 'Omaha',
  NJ: 'Newark|Jersey City',
  NM: 'Albuquerque|Santa Fe',
  NV: 'Las Vegas|Reno',
  NY: 'New York|New York City|Brooklyn|Manhattan|Buffalo|Albany|Rochester',
  OH: 'Columbus|Cleveland|Cincinnati',
  OK: 'Oklahoma City|Tulsa',
  OR: 'Portland|Eugene|Salem',
  PA: 'Philadelphia|Pittsburgh',
  RI: 'Providence',
  TN: 'Nashville|Memphis',
  TX: 'Houston|Dallas|Austin|San Antonio|El Paso|Fort Worth|Plano',
  UT: 'Salt Lake City',
  VA: 'Richmond|Virginia Beach|Arlington',
  WA: 'Seattle|Spokane|Tacoma|Bellevue|Redmond',
  WI: 'Milwaukee|Madison',
}
/** The names of the states in the order of their codes above. */
const NAMES =
  'Alaska|Alabama|Arkansas|Arizona|California|Colorado|Connecticut|District of Columbia|Delaware|Florida|Georgia|Hawaii|Iowa|Idaho|Illinois|Indiana|Kansas|Kentucky|Louisiana|Massachusetts|Maryland|Maine|Michigan|Minnesota|Missouri|Mississippi|Montana|North Carolina|North Dakota|Nebraska|New Hampshire|New Jersey|New Mexico|Nevada|New York|Ohio|Oklahoma|Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Virginia|Vermont|Washington|Wisconsin|West Virginia|Wyoming'
const CODES =
  'AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY'
const BY_CITY = new Map(
  Object.entries(STATES).flatMap(([state, cities]) =>
    cities.split('|').map((city): [string, string] => [city.toLowerCase(), state]),
  ),
)

const WANTS_STATE = /city (?:and|,) state|city, ?st(?:ate)?\b/i
const SHOWS_STATE = /\b[A-Z][a-z]+(?: [A-Z][a-z]+)?, (?:[A-Z]{2})\b/
/** The description shows the state as two letters. */
const SHORT = /\b[A-Z][a-z]+(?: [A-Z][a-z]+)?, ?[A-Z]{2}\b|City, ST\b|two[- ]letter|abbreviat/
let states: Map<string, string> | undefined

/** The codes of the states by their names in lower case. */
export function stateCode(): Map<string, string> {
  const codes = CODES.split(' ')
  states ??= new Map(NAMES.split('|').map((name, index) => [name.toLowerCase(), codes[index] as string]))
  return states
}

/** A city with its state, if a description asks for both and the message has only the city. */
export function withState(text: string, description: string): string {
  if (!WANTS_STATE.test(description) && !SHOWS_STATE.test(description)) return text
  const [city = '', said, ...more] = text.split(/(?:(?<!\s)\s+)?,\s*/)
  if (more.length > 0) return text
  if (said !== undefined) {
    const code = SHORT.test(description) ? stateCode().get(said.toLowerCase()) : undefined
    return code === undefined ? text : `${city}, ${code}`
  }
  const state = BY_CITY.get(city.toLowerCase())
  return state === undefined ? text : `${titled(city)}, ${state}`
}

/** The state of a large city, as its code. */
export const stateOfCity = (city: string): string | undefined => BY_CITY.get(city.toLowerCase())

/** A name that was typed in lower case. */
const titled = (name: string): string =>
  name === name.toLowerCase() ? name.replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase()) : name
