import { describe, expect, test } from 'vitest'
import { scripted } from '../../testing/stand-ins.ts'
import { toolsOver } from './fixtures/call-tool.ts'

const text = 'Ada met Bob in Oslo.'
const none = { people: [], places: [], organizations: [] }

async function entities(replies: readonly string[], params: object = {}) {
  const model = scripted(...replies)
  const result = await toolsOver(model).call('extract_entities', { text, ...params })
  return { found: (result as { entities: object }).entities, model }
}

describe('lists entities by type', () => {
  test.each([
    ['as asked for', '{"entities": {"people": ["Ada", "Bob"], "places": ["Oslo"], "organizations": []}}'],
    ['without the word around them', '{"people": ["Ada", "Bob"], "places": ["Oslo"]}'],
    ['under other letters', '{"Entities": {"People": ["Ada", "Bob"], "PLACES": ["Oslo"], "organizations": null}}'],
    ['with more types than wanted', '{"entities": {"people": ["Ada", "Bob"], "places": ["Oslo"], "verbs": ["met"]}}'],
    ['as objects', '{"entities": {"people": [{"name": "Ada"}, {"name": "Bob"}], "places": "Oslo"}}'],
    ['more than once', '{"entities": {"people": ["Ada", "Bob", "ada"], "places": ["Oslo", ""]}}'],
  ])('%s', async (_, reply) => {
    const { found, model } = await entities([reply])
    expect(found).toEqual({ people: ['Ada', 'Bob'], places: ['Oslo'], organizations: [] })
    expect(model.requests).toHaveLength(1)
  })
})

test("restricts the model to the caller's types", async () => {
  const { found, model } = await entities(['{"entities": {"first names": ["Ada"]}}'], {
    entity_types: ['first names', 'dates'],
  })
  expect(found).toEqual({ 'first names': ['Ada'], dates: [] })
  expect(model.requests[0]?.response_schema).toMatchObject({
    properties: { entities: { required: ['first names', 'dates'], additionalProperties: false } },
  })
})

test('asks again for other types', async () => {
  const { found, model } = await entities(['{"entities": {"persons": ["Ada"]}}', '{"people": ["Ada"]}'])
  expect(found).toEqual({ ...none, people: ['Ada'] })
  expect(model.requests).toHaveLength(2)
})

test.each([
  ['nothing', ['']],
  ['words', ['There are none.', 'Really.']],
  ['no entities', ['{"entities": {}}']],
  ['an empty object', ['{}']],
  ['wrong types', ['{"people": 5}', '{"people": true}']],
  ['a list', ['["Ada"]', '[]']],
])('returns empty lists for a reply of %s', async (_, replies) => {
  const { found, model } = await entities(replies)
  expect(found).toEqual(none)
  expect(model.requests).toHaveLength(replies.length)
})

test('asks no model about a blank text', async () => {
  expect((await entities([], { text: '' })).found).toEqual(none)
})

test('rejects names of object properties as types', async () => {
  await expect(entities([], { entity_types: ['__proto__'] })).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
  const { found } = await entities(['{"toString": ["x"], "people": ["Ada"], "__proto__": {"places": ["Oslo"]}}'])
  expect(found).toEqual({ ...none, people: ['Ada'] })
})
