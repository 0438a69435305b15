import { expect, test } from 'vitest'
import { readCase } from './read-case.ts'

const texts = { query: ' What? ', expect: '{"no_call": true}', rest: '{"id": "one", "tools": ["add"]}' }

test('puts the parts of an edited case together', () => {
  expect(readCase(texts)).toEqual({
    value: { id: 'one', tools: ['add'], query: 'What?', expect: { no_call: true } },
  })
})

test('says which part can not be read', () => {
  expect(readCase({ ...texts, query: ' ' })).toEqual({ problem: 'Write what the user asks.' })
  expect(readCase({ ...texts, expect: '[]' })).toEqual({ problem: 'Expected is not a JSON object.' })
  expect(readCase({ ...texts, rest: '{' })).toEqual({ problem: 'The rest of the case is not a JSON object.' })
})
