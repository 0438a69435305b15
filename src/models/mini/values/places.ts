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
const BY_CITY = new Map(
  Object.entries(STATES).flatMap(([state, cities]) =>
    cities.split('|').map((city): [string, string] => [city.toLowerCase(), state]),
  ),
)

/** A city with its state where a description asks for both and only the city was said. */
export function withState(text: string, description: string): string {
  if (!/city (?:and|,) state|city, state|\b[A-Z][a-z]+(?: [A-Z][a-z]+)?, (?:[A-Z]{2})\b/.test(description)) return text
  const state = BY_CITY.get(text.toLowerCase())
  return state === undefined ? text : `${text}, ${state}`
}

let zones: Map<string, string> | undefined

/** The IANA time zone that is named after a city. */
export function timeZoneOf(place: string): string | undefined {
  zones ??= new Map(
    Intl.supportedValuesOf('timeZone').map((zone) => [
      (zone.split('/').at(-1) as string).replaceAll('_', ' ').toLowerCase(),
      zone,
    ]),
  )
  const name = place.trim().toLowerCase()
  return name.includes('/') ? [...zones.values()].find((zone) => zone.toLowerCase() === name) : zones.get(name)
}
