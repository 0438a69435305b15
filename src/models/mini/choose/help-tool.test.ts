import { expect, test } from 'vitest'
import type { OfferedTool } from '../../model.ts'
import { helpTool } from './help-tool.ts'
import { sharedWords } from './shared-words.ts'

const search = (description: string): OfferedTool => ({
  name: 'search',
  description,
  parameters: {
    type: 'object',
    properties: { query: { type: 'string' }, page: { type: 'integer' } },
    required: ['query'],
  },
})
const docs = search("Search Toolyard's documentation and get the passages that answer best.")

test('a question of how to do something goes to the documentation, where it can be searched', () => {
  expect(helpTool('How do I add a tool?', [search('Search the web'), docs])).toEqual({ tool: docs, parameter: 'query' })
  expect(helpTool('how to run it in a container', [docs])?.tool).toBe(docs)
  for (const said of ['who won the world cup', 'write a poem', 'how many days until Christmas?']) {
    expect(helpTool(said, [docs])).toBeUndefined()
  }
  expect(helpTool('How do I add a tool?', [search('Search the web')])).toBeUndefined()
})

test('words that a description and a sentence share are found in any form, and empty ones left out', () => {
  const said = 'how many letters are in the word banana'
  const words = sharedWords('how many of a letter are in it', said).map(({ from, to }) => said.slice(from, to))
  expect(words).toEqual(['many', 'letters'])
  expect(sharedWords('what is in the house', 'what is in the garden')).toEqual([])
})
