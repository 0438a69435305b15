import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HandlerContext } from '../core/handler.ts'
import { silentLog } from '../core/log.ts'
import type { Params } from '../core/tool.ts'
import { docsSearch } from './docs-search.ts'

interface Found {
  results: { text: string; score: number; source: string; position: number; metadata: Record<string, string> }[]
}

const context: HandlerContext = {
  signal: new AbortController().signal,
  tenant: 'local',
  flags: {},
  report: () => {},
  log: silentLog,
}

let folder: string
const pages: Record<string, string> = {
  'errors.md': `# Errors\nEvery call ends in an envelope.\n## Timeouts\nA tool that runs past its deadline is cancelled.
## Rate limits\nA tool with too many calls answers RATE_LIMITED: wait and call again.`,
  'tools/weather.md': '# get_weather\nThe weather of a city. The tool is a mock: it answers the same for every call.',
  'tools/calculate.md':
    '# calculate\nThe tool evaluates an expression, for example a tip.\n## Errors\nA call may fail.',
  'languages.md': '# Clients\nA tool can be called from JavaScript, Python and others over HTTP.',
  'notes.txt': 'Decorators in Python wrap functions.',
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docs-search-'))
  await mkdir(join(folder, 'tools'))
  for (const [name, text] of Object.entries(pages)) await writeFile(join(folder, name), text)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const find = async (params: Params, where: string | URL = folder) =>
  ((await docsSearch(where)(params, context)) as Found).results

describe('what is found', () => {
  test('comes with text, score, place and heading', async () => {
    expect(await find({ query: 'deadline of a tool' })).toEqual([
      {
        text: 'A tool that runs past its deadline is cancelled.',
        score: 1,
        source: 'errors.md',
        position: 1,
        metadata: { title: 'Errors', heading: 'Timeouts' },
      },
    ])
  })

  test('other forms of a word, and words it begins, are found too', async () => {
    expect((await find({ query: 'cancelling' }))[0]?.source).toBe('errors.md')
    expect((await find({ query: 'evaluating expressions' }))[0]?.source).toBe('tools/calculate.md')
    expect((await find({ query: 'dead' }))[0]?.metadata.heading).toBe('Timeouts')
  })

  test('is best first, scores within 0 to 1, no more than asked for', async () => {
    const all = await find({ query: 'tool call' })
    expect(all.length).toBeGreaterThan(2)
    expect(all.map((one) => one.score)).toEqual(all.map((one) => one.score).toSorted((a, b) => b - a))
    expect(all.every(({ score }) => score > 0 && score <= 1)).toBe(true)
    expect(await find({ query: 'tool call', max_results: 2 })).toEqual(all.slice(0, 2))
  })

  test('is the same by URL', async () => {
    expect(await find({ query: 'weather' }, pathToFileURL(folder))).toEqual(await find({ query: 'weather' }))
  })
})

describe('nothing is found', () => {
  test.each([
    'Python decorators',
    'Search for Python decorators in the docs',
    'calls in Kubernetes clusters',
    'what is this about',
    '?!',
    '" OR 1=1 --',
    '__proto__ constructor',
  ])('by %j', async (query) => {
    expect(await find({ query })).toEqual([])
  })
})

test.each([
  [{}, 'query must be a text that is not empty'],
  [{ query: ' ' }, 'query must be a text that is not empty'],
  [{ query: 'a'.repeat(1_001) }, 'query must not be longer than 1000 characters'],
  [{ query: 'a', collection: 'wiki' }, 'collection "wiki" does not exist; there is only "docs"'],
  [{ query: 'a', max_results: 0 }, 'max_results must be an integer from 1 to 20, not 0'],
  [{ query: 'a', max_results: '5' }, 'max_results must be an integer from 1 to 20, not "5"'],
])('parameters number %# are refused', async (params, message) => {
  await expect(find(params)).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    message: `Invalid parameters: ${message}`,
  })
})

test('a folder that is not there yet is an error without its path, and is looked for again', async () => {
  const late = join(folder, 'late')
  const search = docsSearch(late)
  await expect(search({ query: 'weather' }, context)).rejects.toThrow(
    /^The documents cannot be read \(ENOENT\): check that their folder exists$/,
  )
  await mkdir(late)
  await writeFile(join(late, 'weather.md'), '# Weather\nSunny.')
  expect(((await search({ query: 'weather' }, context)) as Found).results).toHaveLength(1)
})

test('the folder is read once', async () => {
  const once = join(folder, 'once')
  await mkdir(once)
  await writeFile(join(once, 'weather.md'), '# Weather\nSunny.')
  const search = docsSearch(once)
  const answers = await Promise.all(['weather', 'weather'].map((query) => search({ query }, context)))
  await rm(once, { recursive: true })
  expect([...answers, await search({ query: 'weather' }, context)]).toEqual([answers[0], answers[0], answers[0]])
})
