/** A task of several steps, as code that calls tools. The calls that run in parallel in it are one turn without code. */
export interface Task {
  readonly question: string
  readonly code: string
}

const customers = [
  ['c1', 'Ann', 'NO'],
  ['c2', 'Bo', 'SE'],
  ['c3', 'Cy', 'DE'],
  ['c4', 'Di', 'NO'],
].map(([id, name, country]) => ({
  id,
  name,
  country,
  since: 2019,
  address: `${name} Street 4, ${country}`,
  vip: id === 'c3',
}))

const orders = ['c1', 'c1', 'c2', 'c3', 'c3', 'c3', 'c4', 'c2'].map((customer, at) => ({
  ...{ id: `o${at + 1}`, customer, article: ['lamp', 'chair', 'desk'][at % 3], count: 1 + (at % 4) },
  ...{ state: at % 3 === 0 ? 'open' : 'sent', placed: `2026-0${1 + at}-10`, note: 'Leave it at the door, please.' },
}))

const articles: Readonly<Record<string, { price: number; stock: number; weight: number; text: string }>> = {
  lamp: { price: 20, stock: 4, weight: 2, text: 'A lamp of brass with a shade of linen, 40 cm high.' },
  chair: { price: 75, stock: 0, weight: 7, text: 'A chair of oak with a seat of woven paper cord.' },
  desk: { price: 310, stock: 9, weight: 31, text: 'A desk of ash with two drawers, 140 by 70 cm.' },
}

const RATES: Readonly<Record<string, number>> = { EUR: 1, NOK: 11.5, SEK: 11.2, USD: 1.1 }

type Values = Readonly<Record<string, string>>

/** The tools by name: their description, their parameters, and what they do. */
export const TOOLS: readonly (readonly [string, string, readonly string[], (values: Values) => unknown])[] = [
  ['list_customers', 'List all customers.', [], () => customers],
  ['get_customer', 'Get a customer by id.', ['id'], ({ id }) => customers.find((one) => one.id === id)],
  [
    'list_orders',
    'List the orders of a customer.',
    ['customer'],
    ({ customer }) => orders.filter((one) => one.customer === customer),
  ],
  ['get_order', 'Get an order by id.', ['id'], ({ id }) => orders.find((one) => one.id === id)],
  ['get_article', 'Get price, stock and weight of an article.', ['article'], ({ article = '' }) => articles[article]],
  [
    'quote_shipping',
    'Get the price of shipping to a country, in euros.',
    ['country', 'weight'],
    ({ country, weight }) => ({ price: (country === 'DE' ? 5 : 9) + Number(weight) / 2 }),
  ],
  [
    'get_rate',
    'Get how much one euro is in another currency.',
    ['currency'],
    ({ currency = '' }) => ({ rate: RATES[currency] }),
  ],
  [
    'get_weather',
    'Get the weather of a country.',
    ['country'],
    ({ country }) => ({
      country,
      temperature: country === 'NO' ? -4 : 8,
      wind: 3,
      text: 'Cloudy, with some snow in the evening.',
    }),
  ],
]

const ORDERS_OF_ALL =
  'const people = await tools.list_customers(); const lists = await Promise.all(people.map(({ id }) => tools.list_orders({ customer: id })))'
const PRICES =
  'const kinds = [...new Set(orders.map(({ article }) => article))]; const found = await Promise.all(kinds.map((article) => tools.get_article({ article }))); const of = (article) => found[kinds.indexOf(article)]'
const ordersOf = (customer: string) => `const orders = await tools.list_orders({ customer: "${customer}" })`
const ALL = `${ORDERS_OF_ALL}; const orders = lists.flat()`

const one = (customer: string, name: string): Task[] => [
  {
    question: `What has ${name} spent?`,
    code: `${ordersOf(customer)}; ${PRICES}; return orders.reduce((sum, { article, count }) => sum + count * of(article).price, 0)`,
  },
  {
    question: `Which orders of ${name} can't be sent, because there is no stock?`,
    code: `${ordersOf(customer)}; ${PRICES}; return orders.filter(({ article, count }) => of(article).stock < count).map(({ id }) => id)`,
  },
  {
    question: `What does it cost to send all orders of ${name} in one parcel?`,
    code: `const [{ country }, orders] = await Promise.all([tools.get_customer({ id: "${customer}" }), tools.list_orders({ customer: "${customer}" })]); ${PRICES}; return tools.quote_shipping({ country, weight: String(orders.reduce((sum, { article, count }) => sum + count * of(article).weight, 0)) })`,
  },
  {
    question: `What is the last order of ${name} in Norwegian kroner?`,
    code: `${ordersOf(customer)}; const last = orders.at(-1); const [{ price }, { rate }] = await Promise.all([tools.get_article({ article: last.article }), tools.get_rate({ currency: "NOK" })]); return price * last.count * rate`,
  },
  {
    question: `Does it freeze where ${name} lives, and are orders open?`,
    code: `const { country } = await tools.get_customer({ id: "${customer}" }); const [{ temperature }, orders] = await Promise.all([tools.get_weather({ country }), tools.list_orders({ customer: "${customer}" })]); return { freezes: temperature < 0, open: orders.filter(({ state }) => state === "open").length }`,
  },
]

const all: readonly Task[] = [
  {
    question: 'Which customer has spent most?',
    code: `${ALL}; ${PRICES}; const sums = people.map(({ name, id }) => ({ name, sum: orders.filter((order) => order.customer === id).reduce((sum, { article, count }) => sum + count * of(article).price, 0) })); return sums.sort((a, b) => b.sum - a.sum)[0]`,
  },
  {
    question: 'How many orders are open?',
    code: `${ALL}; return orders.filter(({ state }) => state === "open").length`,
  },
  {
    question: 'What has been sold of each article?',
    code: `${ALL}; const sold = {}; for (const { article, count } of orders) sold[article] = (sold[article] ?? 0) + count; return sold`,
  },
  {
    question: 'Which articles must be ordered again?',
    code: `${ALL}; ${PRICES}; return kinds.filter((article) => of(article).stock < orders.filter((order) => order.article === article).length)`,
  },
  {
    question: 'What is the turnover in US dollars?',
    code: `${ALL}; ${PRICES}; const { rate } = await tools.get_rate({ currency: "USD" }); return rate * orders.reduce((sum, { article, count }) => sum + count * of(article).price, 0)`,
  },
  {
    question: 'Who lives where it freezes?',
    code: 'const people = await tools.list_customers(); const weather = await Promise.all(people.map(({ country }) => tools.get_weather({ country }))); return people.filter((_, at) => weather[at].temperature < 0).map(({ name }) => name)',
  },
  {
    question: 'What does shipping of each open order cost?',
    code: `${ALL}; ${PRICES}; const open = orders.filter(({ state }) => state === "open"); const quotes = await Promise.all(open.map(({ customer, article, count }) => tools.quote_shipping({ country: people.find(({ id }) => id === customer).country, weight: String(count * of(article).weight) }))); return open.map(({ id }, at) => ({ id, price: quotes[at].price }))`,
  },
  {
    question: 'Which customers have no open order?',
    code: `${ORDERS_OF_ALL}; return people.filter((_, at) => lists[at].every(({ state }) => state !== "open")).map(({ name }) => name)`,
  },
  {
    question: 'What is the mean value of an order?',
    code: `${ALL}; ${PRICES}; return orders.reduce((sum, { article, count }) => sum + count * of(article).price, 0) / orders.length`,
  },
  {
    question: 'Are the orders o1, o4 and o7 sent?',
    code: 'const orders = await Promise.all(["o1", "o4", "o7"].map((id) => tools.get_order({ id }))); return orders.map(({ id, state }) => [id, state])',
  },
]

export const TASKS: readonly Task[] = [
  ...one('c1', 'Ann'),
  ...one('c2', 'Bo'),
  ...one('c3', 'Cy'),
  ...one('c4', 'Di'),
  ...all,
]
