import MiniSearch from 'minisearch'
import type { OfferedTool } from '../../src/models/model.ts'

/** How `mini:v1` looked tools up before there was a search for all models: by words, with MiniSearch. Only compared with. */
export function formerLookup(tools: readonly OfferedTool[]): (said: string, most: number) => string[] {
  const index = new MiniSearch({ fields: ['name', 'description', 'parameters', 'details'], processTerm: stem })
  index.addAll(
    tools.map(({ name, description, parameters: { properties } }, id) => {
      const parameters = Object.entries(Object(properties) as Record<string, { description?: string }>).slice(0, 40)
      const details = parameters.map(([, one]) => String(Object(one).description ?? '').slice(0, 80))
      return {
        id,
        name: wordsOfName(name),
        description: description.slice(0, 400),
        parameters: parameters.map(([key]) => wordsOfName(key)).join(' '),
        details: details.join(' ').slice(0, 600),
      }
    }),
  )
  return (said, most) =>
    index
      .search(said.slice(0, 600), {
        boost: { name: 2, details: 0.3 },
        prefix: (term) => term.length > 3,
        fuzzy: (term) => (term.length > 5 ? 0.15 : false),
      })
      .slice(0, most)
      .map(({ id }) => (tools[id] as OfferedTool).name)
}

const wordsOfName = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_\-.[\]$/\s]+/g, ' ')
    .trim()
    .toLowerCase()

const FILLERS = new Set(
  'a an the of in on at to for and or is are be was with by from as it its this that my me i you your we can could would please what which how do does what’s'.split(
    ' ',
  ),
)

function stem(term: string): string | null {
  const word = term.toLowerCase()
  if (FILLERS.has(word)) return null
  return word.length > 4 ? word.replace(/(?:ies|ing|ed|es|s|e|y)$/, '') : word
}
