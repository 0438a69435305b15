import { expect, test } from 'vitest'
import {
  ADD_ENTRIES,
  modelEntry,
  PAGE_ENTRIES,
  PaletteIndex,
  runEntry,
  toolEntry,
  viewEntry,
} from './palette-entries.ts'

const tool = (name: string, description = '') =>
  toolEntry({ name, description, kind: 'mock', effect: 'read', origin: 'configuration', permissions: [] })

const index = new PaletteIndex([
  ...PAGE_ENTRIES,
  ...ADD_ENTRIES,
  ...Array.from({ length: 200 }, (_, at) => tool(`tool_${at}`)),
  tool('get_weather', 'Forecasts for settings of all kinds'),
  modelEntry({ id: 'openai:gpt', name: 'GPT' }),
])
const titles = (query: string) => index.find(query).map(({ title }) => title)

test('a misspelled name finds its tool', () => expect(titles('wether')).toEqual(['get_weather']))

test('a title counts more than a description', () => expect(titles('settings')).toEqual(['Settings', 'get_weather']))

test('a model leads to a test of it', () => {
  expect(index.find('gpt')[0]?.href).toBe('/tools-testing?model=openai%3Agpt')
})

test('a run is found by its question and by its id', () => {
  const run = {
    ...{ id: '5cb9ba92-a1a4', model: 'mini:v1', question: 'Is it raining?', stop_reason: 'stop' },
    ...{ started_at: '2026-11-18T12:00:00Z' },
  } as Parameters<typeof runEntry>[0]
  const runs = new PaletteIndex([runEntry(run)])
  expect(['raining', '5cb9ba92'].map((query) => runs.find(query)[0]?.title)).toEqual([run.question, run.question])
})

test('each list of activity is a page', () => {
  expect(['runs', 'calls', 'chats'].map((query) => index.find(query)[0]?.href)).toEqual([
    '/activity/runs',
    '/activity/calls',
    '/activity/chats',
  ])
})

test('a saved view is found by its name and its filters', () => {
  const views = new PaletteIndex([viewEntry({ name: 'Broken', address: '/activity/calls?outcome=failure' })])
  expect([views.find('broken')[0]?.href, views.find('failure')[0]?.title]).toEqual([
    '/activity/calls?outcome=failure',
    'Broken',
  ])
})

test('without a query, each kind shows a few, and never more than 50 are shown', () => {
  expect(titles('').length).toBeLessThan(30)
  expect(titles('')).toContain('GPT')
  expect(titles('tool')).toHaveLength(50)
})

test('finds each thing that can be added', () => {
  for (const [query, href] of [
    ['add mcp', '/setup/mcp'],
    ['curl', '/setup/curl'],
    ['openapi', '/setup/openapi'],
    ['add model', '/setup/model'],
    ['knowledge', '/setup/knowledge'],
  ] as const) {
    expect(index.find(query)[0]?.href).toBe(href)
  }
})
