/** What the rules know by heart. Countries, cities of time zones and currencies come from `Intl`. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''))
const list = (text: string): string[] => text.split(',').map((name) => name.trim().toLowerCase())

/** Stand before the name of a person. */
export const TITLES =
  words(`prime vice deputy former mr mrs ms miss dr prof professor sir dame lord lady president chancellor minister premier mayor
  governor senator congressman congresswoman judge justice captain general colonel major sergeant admiral inspector king queen
  prince princess pope bishop rabbi imam father sister ceo cto cfo director chairman chairwoman chair ambassador secretary
  commissioner coach chief doctor representative spokesman spokeswoman herr frau madame monsieur señor señora`)

/** Lower-case words before or after the name of a person. */
export const ROLES =
  words(`minister president chancellor mayor governor senator director manager chairman chairwoman chair
  spokesman spokeswoman spokesperson founder co-founder engineer researcher scientist professor author writer journalist reporter
  analyst lawyer attorney economist historian artist singer actor actress coach captain player teacher doctor nurse resident
  officer chief executive secretary commissioner ambassador owner editor colleague head leader student historian biologist`)

export const SPEECH =
  words(`said says told added wrote writes explained argued warned noted announced asked replied insisted
  believes thinks claimed confirmed denied tweeted joined resigned recalls recalled complained praised welcomed`)

export const FIRST_NAMES =
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
export const ORGANIZATION_ENDS =
  words(`inc ltd llc plc corp corporation gmbh ag sa se co company companies group holdings
  university college institute school academy hospital bank council committee commission agency authority association
  foundation federation society union party court parliament senate congress ministry department bureau office board
  airlines airways motors railways museum orchestra club press news times post journal labs laboratories technologies systems
  software partners ventures capital insurance pharmaceuticals energy industries electronics shipyard police army navy fund
  trust league organization organisation initiative consortium alliance forum network studios records`)

/** "University of Oslo". */
export const ORGANIZATION_HEADS =
  words(`university bank ministry department institute council court house academy museum
  college school chamber church bureau office board church league federation association society union`)

export const ORGANIZATIONS = new Set(
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
export const PLACE_ENDS =
  words(`street avenue road lane boulevard river lake sea ocean bay gulf strait island islands mountain
  mountains hills valley desert forest park square bridge airport station harbour harbor beach coast peninsula county province
  region district city town village canal falls canyon plateau glacier volcano`)

/** The first word of a place. */
export const PLACE_STARTS = words('lake mount cape port fort san santa saint rio los las el new')

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
export const OTHER_NAMES = words(`january february march april may june july august september october november december
  monday tuesday wednesday thursday friday saturday sunday english german french spanish italian chinese japanese russian arabic
  portuguese norwegian swedish danish dutch polish turkish greek european american british christmas easter i ok`)

let known: ReadonlySet<string> | undefined

/** Whether a name in lower case is a place: a country, a city of the time zones, or one of the list. */
export function isPlace(name: string): boolean {
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
