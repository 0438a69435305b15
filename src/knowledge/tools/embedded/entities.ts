import { suggest } from '../../../core/suggest.ts'
import type { BlockKind } from '../../documents/document.ts'
import { isSilent, readSentences, type Turn, windows } from './prose.ts'

/** What the rules find, in the order of the documentation. */
export const ENTITY_TYPES = [
  'people',
  'places',
  'organizations',
  'dates',
  'emails',
  'urls',
  'amounts',
  'percentages',
  'phone_numbers',
] as const

type EntityType = (typeof ENTITY_TYPES)[number]

/** Other words for the types. */
const SYNONYMS: Readonly<Record<string, EntityType>> = {
  person: 'people',
  persons: 'people',
  names: 'people',
  place: 'places',
  location: 'places',
  locations: 'places',
  cities: 'places',
  countries: 'places',
  organization: 'organizations',
  organisation: 'organizations',
  organisations: 'organizations',
  company: 'organizations',
  companies: 'organizations',
  date: 'dates',
  email: 'emails',
  email_addresses: 'emails',
  url: 'urls',
  links: 'urls',
  amount: 'amounts',
  money: 'amounts',
  prices: 'amounts',
  percentage: 'percentages',
  percent: 'percentages',
  phones: 'phone_numbers',
  phone: 'phone_numbers',
}

/** The type that a name means; undefined if the rules don't know it. */
export function entityType(name: string): EntityType | undefined {
  const key = name.trim().toLowerCase().replaceAll(/[\s-]/g, '_')
  if (Object.hasOwn(SYNONYMS, key)) return SYNONYMS[key]
  return ENTITY_TYPES.find((type) => type === key) ?? (suggest(key, ENTITY_TYPES)[0] as EntityType | undefined)
}

/** An entity of each type is listed once, as it is written first. */
const MAX_ENTITIES = 200

class Found {
  readonly #lists = new Map<EntityType, Map<string, string>>(ENTITY_TYPES.map((type) => [type, new Map()]))

  add(type: EntityType, text: string): void {
    const list = this.#lists.get(type) as Map<string, string>
    if (text !== '' && list.size < MAX_ENTITIES && !list.has(text.toLowerCase())) list.set(text.toLowerCase(), text)
  }

  of(type: EntityType): string[] {
    return [...(this.#lists.get(type)?.values() ?? [])]
  }
}

const EVERYTHING: ReadonlySet<BlockKind> = new Set(['heading', 'prose', 'list', 'table', 'record'])

/** Finds the entities of a text by rules: lists of names, the words around a name, and the forms of dates and amounts. */
export async function findEntities(content: string, turn: Turn = () => {}): Promise<(type: EntityType) => string[]> {
  const found = new Found()
  for (const part of windows(content)) {
    for (const [type, pattern] of ADDRESSES)
      for (const [match] of part.matchAll(pattern)) found.add(type, match.replace(/[.,;:!?]$/, ''))
    await turn()
  }
  for (const { text, kind } of await readSentences(content, EVERYTHING, turn)) {
    for (const [type, pattern] of FORMS)
      for (const { 0: whole, 1: part } of text.matchAll(pattern)) found.add(type, part ?? whole)
    // Every word of a heading may have a capital.
    if (kind !== 'heading') {
      for (const run of nameRuns(text)) for (const [type, name] of entitiesIn(run)) found.add(type, name)
    }
    await turn()
  }
  return (type) => (type === 'people' ? withoutParts(found.of(type)) : found.of(type))
}

/** "Nygaard" after "Lars Nygaard" is the same person. */
function withoutParts(names: readonly string[]): string[] {
  const parts = new Set(names.flatMap((name) => name.split(' ').slice(name.includes(' ') ? 0 : 1)))
  return names.filter((name) => name.includes(' ') || !parts.has(name))
}

const ADDRESSES: readonly (readonly [EntityType, RegExp])[] = [
  ['emails', /(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g],
  ['urls', /https?:\/\/[^\s<>"'`()[\]{}|]{1,2000}|(?<![\w./@-])www\.[^\s<>"'`()[\]{}|]{3,2000}/gi],
  ['phone_numbers', /(?<![\w+])\+\d[\d ().-]{6,18}\d(?!\d)/g],
]

const MONTH = String.raw`(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)`
const DATE = [
  String.raw`\b\d{4}-\d{2}-\d{2}\b`,
  String.raw`(?<![\d.])\d{1,2}(?:\/\d{1,2}\/(?:\d{4}|\d{2})|\.\d{1,2}\.\d{4})\b`,
  String.raw`\b\d{1,2}(?:st|nd|rd|th)? (?:of )?${MONTH}(?:,? \d{4})?(?![\w])`,
  String.raw`\b${MONTH} \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?(?![\w])`,
  String.raw`\b${MONTH} \d{4}\b`,
  String.raw`\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b`,
  String.raw`\b(?:in|since|until|by|from|before|after|during) ((?:19|20)\d{2})\b(?![-/.]\d)`,
].join('|')
const NUMBER = String.raw`\d{1,15}(?:[.,]\d{1,9}){0,6}`
const SCALE = '(?: (?:thousand|million|billion|trillion)|[kKmM]|bn)?'
const CURRENCY = `(?:US |Canadian |Australian )?(?:dollars?|euros?|pounds?|yen|yuan|rupees?|francs?|kroner|kronor|rubles?|cents?|USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|NOK|SEK|DKK)`
const AMOUNT = String.raw`(?:US\$|[$€£¥₹]|(?:USD|EUR|GBP|CHF|NOK|SEK|DKK) )${NUMBER}${SCALE}\b|\b${NUMBER}${SCALE} ?(?:${CURRENCY}\b|[€£])`

const FORMS: readonly (readonly [EntityType, RegExp])[] = [
  ['dates', new RegExp(DATE, 'g')],
  ['amounts', new RegExp(AMOUNT, 'g')],
  ['percentages', /(?<![\d.,])\d{1,15}(?:[.,]\d{1,9})?(?: ?%| percent\b| per cent\b)/g],
]

interface Word {
  readonly text: string
  readonly lower: string
  readonly at: number
  readonly end: number
}

/** Consecutive words with a capital, with the words around them. */
interface Run {
  readonly sentence: string
  readonly words: readonly Word[]
  readonly opens: boolean
  readonly before: string
  readonly after: string
  /** What follows directly: a comma, an age, or nothing. */
  readonly tail: string
}

const WORD = /[\p{L}\p{N}]+(?:['’&-][\p{L}\p{N}]+)*/gu
const CAPITAL = /^\p{Lu}/u
/** Join two capitalized words. */
const JOINTS = new Set([
  'of',
  'de',
  'del',
  'la',
  'le',
  'van',
  'von',
  'der',
  'den',
  'di',
  'da',
  'dos',
  'bin',
  'al',
  'el',
])

function* nameRuns(sentence: string): Generator<Run> {
  const words = [...sentence.matchAll(WORD)].map(({ 0: matched, index }): Word => {
    const text = matched.replace(/['’]s$/, '')
    return { text, lower: text.toLowerCase(), at: index, end: index + matched.length }
  })
  for (let from = 0; from < words.length; from++) {
    if (!isCapital(words[from])) continue
    let to = from + 1
    for (; to < words.length; to++) {
      const gap = sentence.slice(words[to - 1]?.end, words[to]?.at)
      const joined = gap === ' ' || gap === ' & ' || (gap === '. ' && continues(words[to - 1] as Word))
      if (!joined) break
      if (isCapital(words[to])) continue
      // A possessive ends a name, and a joint needs a capital after it.
      if (!JOINTS.has(words[to]?.lower ?? '') || !isCapital(words[to + 1])) break
      if (sentence.slice(words[to]?.end, words[to + 1]?.at) !== ' ') break
    }
    const end = words[to - 1]?.end ?? sentence.length
    yield {
      sentence,
      words: words.slice(from, to),
      opens:
        from === 0 || /[.!?:"“”—–]\s?$/.test(sentence.slice(Math.max(0, (words[from]?.at ?? 0) - 2), words[from]?.at)),
      before: words[from - 1]?.lower ?? '',
      after: words[to]?.lower ?? '',
      tail: sentence.slice(end, end + 40),
    }
    from = to - 1
  }
}

const isCapital = (word: Word | undefined): boolean => word !== undefined && CAPITAL.test(word.text)
const continues = ({ text, lower }: Word): boolean => text.length === 1 || TITLES.has(lower)

type Named = readonly [EntityType, string]

/** The entities in a run of capitalized words, often one or none. */
function entitiesIn(run: Run): readonly Named[] {
  const words = withoutOpening(run)
  const { sentence, tail } = run
  const name = written(sentence, words)
  const lower = name.toLowerCase()
  const [first, last] = [words[0]?.lower ?? '', words.at(-1)?.lower ?? '']
  if (words.length === 0 || OTHER_NAMES.has(lower)) return []
  if (isOrganization(words, lower, first, last)) return [['organizations', name]]
  if (isPlace(lower)) return [['places', casing(name)]]
  if (TITLES.has(first)) return titled({ ...run, words })
  const [head, of] = splitAt(words, 'of')
  if (of.length > 0 && head.length > 0) return [head, of].flatMap((part) => entitiesIn(alone(run, part)))
  if (words.length > 1 && (PLACE_ENDS.has(last) || PLACE_STARTS.has(first))) return [['places', name]]
  if (words.length > 1 && OTHER_NAMES.has(first)) return entitiesIn({ ...run, words: words.slice(1), before: '' })
  if (isPerson(words, run)) return [['people', name]]
  const beside = /^, ((?:\p{Lu}[\p{L}.]{1,30} ?){1,3})/u.exec(tail)?.[1]?.trim().toLowerCase().replace(/\.$/, '') ?? ''
  return words.length <= 2 && isPlace(beside) ? [['places', name]] : []
}

/** The first word of a sentence has a capital whatever it is. */
function withoutOpening({ words, opens }: Run): readonly Word[] {
  let at = 0
  const silent = (): boolean => isSilent(words[at]?.lower ?? '') || JOINTS.has(words[at]?.lower ?? '')
  while (at < words.length && silent() && (opens || words.length - at > 1)) at++
  const [first, second] = [words[at]?.lower ?? '', words[at + 1]?.lower ?? '']
  if (opens && words.length - at > 2 && FIRST_NAMES.has(second) && !TITLES.has(first)) at++
  return words.slice(at)
}

/** "WHO" is an organization, "Who" isn't; "Shell" is one, "SHELL" isn't. */
const CAPITALS = new Set(
  'ibm amd sap bmw nasa esa nato un eu who imf wto ilo opec oecd unesco unicef unhcr fifa uefa ioc bbc cnn nbc cbs fbi cia nsa mit cern ikea bp'.split(
    ' ',
  ),
)

function isOrganization(words: readonly Word[], lower: string, first: string, last: string): boolean {
  if (words.length === 1)
    return ORGANIZATIONS.has(lower) && (words[0]?.text === lower.toUpperCase()) === CAPITALS.has(lower)
  if (ORGANIZATIONS.has(lower) || ORGANIZATION_ENDS.has(last)) return true
  return ORGANIZATION_HEADS.has(first) && words[1]?.lower === 'of'
}

/** "President Ada Lovelace", "President of France". */
function titled(run: Run): readonly Named[] {
  const { words, sentence } = run
  let at = 0
  while (at < words.length && TITLES.has(words[at]?.lower ?? '')) at++
  const [name, of] = splitAt(words.slice(at), 'of')
  const person: Named[] = name.length > 0 ? [['people', written(sentence, name)]] : []
  return of.length > 0 ? [...person, ...entitiesIn(alone(run, of))] : person
}

/** Without what stands around it. */
const alone = (run: Run, words: readonly Word[]): Run => ({ ...run, words, before: '', after: '', tail: '' })

/** As it stands in the sentence, without a possessive. */
function written(sentence: string, words: readonly Word[]): string {
  const [first, last] = [words[0], words.at(-1)]
  return first === undefined || last === undefined ? '' : sentence.slice(first.at, last.at + last.text.length)
}

function splitAt(words: readonly Word[], joint: string): [readonly Word[], readonly Word[]] {
  const at = words.findIndex(({ lower }) => lower === joint)
  return at === -1 ? [words, []] : [words.slice(0, at), words.slice(at + 1)]
}

const PLAIN = /^\p{Lu}[\p{Ll}'’-]+(?:[-'’]?\p{Lu}\p{Ll}+)?$|^\p{Lu}$/u

function isPerson(words: readonly Word[], { before, after, tail }: Run): boolean {
  if (words.length > 4 || !words.every(({ text, lower }) => PLAIN.test(text) || JOINTS.has(lower))) return false
  const firstName = FIRST_NAMES.has(words[0]?.lower ?? '') || (words.length > 1 && words[0]?.text.length === 1)
  if (words.length === 1) return firstName
  if (firstName || SPEECH.has(after) || ROLES.has(before) || before === 'by' || /^, \d{2},/.test(tail)) return true
  const role = /^, (?:the |a |an |its |their )?(?:[a-z-]{2,20} ){0,2}([a-z-]{3,20})\b/.exec(tail)?.[1] ?? ''
  return ROLES.has(role)
}

/** "OSLO" at the head of a report is Oslo. */
const casing = (name: string): string =>
  name.length > 3 && name === name.toUpperCase()
    ? name.toLowerCase().replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())
    : name

/** What the rules know by heart. Countries, cities of time zones and currencies come from `Intl`. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''))
const list = (text: string): string[] => text.split(',').map((name) => name.trim().toLowerCase())

/** Stand before the name of a person. */
const TITLES =
  words(`prime vice deputy former mr mrs ms miss dr prof professor sir dame lord lady president chancellor minister premier mayor
  governor senator congressman congresswoman judge justice captain general colonel major sergeant admiral inspector king queen
  prince princess pope bishop rabbi imam father sister ceo cto cfo director chairman chairwoman chair ambassador secretary
  commissioner coach chief doctor representative spokesman spokeswoman herr frau madame monsieur señor señora`)

/** Lower-case words before or after the name of a person. */
const ROLES = words(`minister president chancellor mayor governor senator director manager chairman chairwoman chair
  spokesman spokeswoman spokesperson founder co-founder engineer researcher scientist professor author writer journalist reporter
  analyst lawyer attorney economist historian artist singer actor actress coach captain player teacher doctor nurse resident
  officer chief executive secretary commissioner ambassador owner editor colleague head leader student historian biologist`)

const SPEECH = words(`said says told added wrote writes explained argued warned noted announced asked replied insisted
  believes thinks claimed confirmed denied tweeted joined resigned recalls recalled complained praised welcomed`)

const FIRST_NAMES =
  words(`aaron abdul abigail ada adam adrian ahmed aisha alan albert alejandro alex alexander alexandra ali
  alice alicia amanda amelia amina amir amy ana anders andrea andreas andrew angela anita anna anne anthony antonio arthur astrid
  barbara beatrice ben benjamin bernard beth betty bill björn bob boris brandon brian bruce camille carl carla carlos carmen
  carol caroline catherine charles charlotte chen chloe chris christian christina christine christopher claire clara claudia
  daniel david deborah dennis diana diego dieter dmitri donald dorothy edward eleanor elena elizabeth ella ellen emily emma emmanuel eric
  erik ernest esther ethan eva evelyn fatima felix fernando francesca francis francisco frank franz fred frederick gabriel
  george giovanni grace greg gregory greta hannah hans harold harry hassan heather heinrich helen helena henrik henry hiroshi
  hugo ian ibrahim ines ingrid irene isaac isabel isabella ivan jacinda jack jacob jake james jamie jan jane janet jason javier jean
  jennifer jens jeremy jessica jim joan joe johan johann john jonas jonathan jorge jose joseph joshua juan judith julia julian
  julie jürgen karen karl kate katherine kathleen kelly kenji kenneth kevin klaus kumar kyle lars laura lauren lea leo leon
  leonard leila lena linda lisa liam louis louise lucas lucia lucy luis luke maja marco margaret maria marie mario mark marta
  martha martin martina mary mateo matthew max maya mei melissa michael michelle miguel mikhail mohamed mohammed monica nadia
  nancy naomi natalia natalie nathan ngozi nicholas nicole nils nina noah nora oliver olivia olga omar oscar pablo paolo patricia
  patrick paul paula pedro peter petra philip pierre priya rachel rahul raj ralph raymond rebecca ricardo richard rita robert
  roberto roger roland ronald rosa ruth ryan samantha samuel sandra sara sarah satoshi sean sebastian sergei sergio simon sofia
  sophia sophie stefan stephanie stephen steve steven stuart sunita susan sven tatiana teresa theresa thomas tim timothy tom
  tomas tony ursula valentina vanessa veronica victor victoria vincent viktor walter wei wilhelm william wolfgang yasmin yuki
  yusuf yuri zoe`)

/** The last word of an organization. */
const ORGANIZATION_ENDS = words(`inc ltd llc plc corp corporation gmbh ag sa se co company companies group holdings
  university college institute school academy hospital bank council committee commission agency authority association
  foundation federation society union party court parliament senate congress ministry department bureau office board
  airlines airways motors railways museum orchestra club press news times post journal labs laboratories technologies systems
  software partners ventures capital insurance pharmaceuticals energy industries electronics shipyard police army navy fund
  trust league organization organisation initiative consortium alliance forum network studios records`)

/** "University of Oslo". */
const ORGANIZATION_HEADS = words(`university bank ministry department institute council court house academy museum
  college school chamber church bureau office board church league federation association society union`)

const ORGANIZATIONS = new Set(
  list(`google, microsoft, apple, amazon, meta, facebook, openai, anthropic, ibm, intel, nvidia, amd, oracle, sap, siemens, bosch,
  volkswagen, bmw, toyota, honda, tesla, ford, airbus, boeing, nasa, esa, nato, un, eu, who, imf, wto, ilo, opec, oecd, unesco,
  unicef, unhcr, fifa, uefa, ioc, bbc, cnn, nbc, cbs, reuters, bloomberg, associated press, new york times, washington post,
  the guardian, financial times, spacex, twitter, linkedin, netflix, spotify, uber, airbnb, samsung, sony, nokia, ericsson,
  huawei, alibaba, tencent, cisco, github, gitlab, mozilla, wikipedia, wikimedia, red cross, greenpeace, amnesty international,
  world bank, european union, united nations, european commission, european parliament, european central bank, white house,
  federal reserve, supreme court, fbi, cia, nsa, mit, cern, ikea, lufthansa, ryanair, unilever, nestlé, pfizer, moderna, bayer,
  novartis, roche, shell, bp, exxon, walmart, mckinsey, deloitte, visa, mastercard, paypal, stripe`),
)

/** The last word of a place. */
const PLACE_ENDS = words(`street avenue road lane boulevard river lake sea ocean bay gulf strait island islands mountain
  mountains hills valley desert forest park square bridge airport station harbour harbor beach coast peninsula county province
  region district city town village canal falls canyon plateau glacier volcano`)

/** The first word of a place. */
const PLACE_STARTS = words('lake mount cape port fort san santa saint rio los las el new')

const PLACES = new Set(
  list(`africa, america, north america, south america, latin america, asia, europe, oceania, antarctica, middle east, scandinavia,
  balkans, caribbean, usa, uk, u.s., us, united states, united kingdom, england, scotland, wales, northern ireland, great britain,
  britain, czech republic, turkey, ivory coast, russia, south korea, north korea, vietnam, syria, iran, laos, taiwan, palestine,
  alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho, illinois,
  indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri, montana,
  nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota, ohio, oklahoma, oregon,
  pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont, virginia, west virginia, wisconsin,
  wyoming, washington, washington dc, ontario, quebec, british columbia, alberta, bavaria, saxony, catalonia, andalusia, tuscany,
  lombardy, sicily, brittany, normandy, provence, beijing, mumbai, delhi, new delhi, bangalore, chennai, munich, hamburg, cologne,
  frankfurt, stuttgart, düsseldorf, leipzig, dresden, geneva, basel, bern, barcelona, valencia, seville, bilbao, milan, naples,
  turin, venice, florence, genoa, bologna, lyon, marseille, nice, bordeaux, toulouse, lille, strasbourg, bergen, trondheim,
  gothenburg, malmö, aarhus, rotterdam, the hague, utrecht, antwerp, ghent, bruges, manchester, liverpool, birmingham, leeds,
  bristol, edinburgh, glasgow, cardiff, belfast, cork, galway, porto, krakow, gdansk, st petersburg, kharkiv, odessa, san francisco,
  san diego, seattle, boston, philadelphia, atlanta, miami, dallas, houston, austin, las vegas, orlando, baltimore, pittsburgh,
  minneapolis, portland, sacramento, oakland, new orleans, nashville, ottawa, montreal, calgary, rio de janeiro, salvador,
  brasília, medellín, kyoto, osaka, nagoya, yokohama, shenzhen, guangzhou, wuhan, tel aviv, mecca, ankara, izmir, alexandria, kyiv, kiev,
  marrakesh, cape town, durban, mombasa, canberra, wellington, christchurch, silicon valley, wall street, hollywood, manhattan,
  brooklyn, rhine, danube, thames, seine, nile, amazon river, mississippi river, alps, himalayas, andes, rocky mountains, sahara,
  atlantic, pacific, mediterranean, baltic`),
)

/** Capitalized, but neither a person nor a place nor an organization. */
const OTHER_NAMES = words(`january february march april may june july august september october november december
  monday tuesday wednesday thursday friday saturday sunday english german french spanish italian chinese japanese russian arabic
  portuguese norwegian swedish danish dutch polish turkish greek european american british christmas easter i ok`)

let known: ReadonlySet<string> | undefined

/** Whether a name in lower case is a place: a country, a city of the time zones, or one of the list. */
function isPlace(name: string): boolean {
  known ??= new Set([...PLACES, ...countries(), ...citiesOfTimeZones()])
  return known.has(name)
}

function countries(): string[] {
  const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at))
  const codes = letters.flatMap((first) => letters.map((second) => first + second))
  return codes
    .flatMap((code) => names.of(code)?.toLowerCase() ?? [])
    .filter((name) => !/unknown|pseudo|outlying/.test(name))
}

const citiesOfTimeZones = (): string[] =>
  Intl.supportedValuesOf('timeZone')
    .filter((zone) => zone.includes('/') && !zone.startsWith('Etc/'))
    .map((zone) => (zone.split('/').at(-1) ?? '').replaceAll('_', ' ').toLowerCase())
