import { expect, test } from 'vitest'
import { draftOf, draftProblems, type ToolDraft, toolOf, withVariables } from './tool-draft.ts'

const TOOL = {
  name: 'get_user',
  description: 'Gets a user.',
  effect: 'read',
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string' },
      limit: { type: 'integer', default: 10, examples: [5], description: 'How many' },
    },
    required: ['id'],
  },
  implementation: { type: 'http', method: 'GET', url: 'https://api.test/users/{id}' },
}

const withParameter = (draft: ToolDraft, origin: string, change: object): ToolDraft => ({
  ...draft,
  parameters: draft.parameters.map((one) => (one.origin === origin ? { ...one, ...change } : one)),
})

test('an unchanged draft gives the same tool', () => {
  expect(toolOf(TOOL, draftOf(TOOL))).toEqual(TOOL)
})

test('a renamed parameter keeps its name in the API, and the others are still sent', () => {
  const { parameters, implementation } = toolOf(TOOL, withParameter(draftOf(TOOL), 'id', { name: 'user_id' }))
  expect(Object.keys(Object(parameters.properties))).toEqual(['user_id', 'limit'])
  expect(parameters.required).toEqual(['user_id'])
  expect(implementation.params_mapping).toEqual({ user_id: 'id', limit: 'limit' })
})

test('an existing mapping, place and body follow a renamed parameter', () => {
  const tool = {
    ...TOOL,
    implementation: {
      ...TOOL.implementation,
      params_mapping: { id: 'id' },
      params_in: { limit: 'header' },
      body_param: 'limit',
    },
  }
  const { implementation } = toolOf(tool, withParameter(draftOf(tool), 'limit', { name: 'most' }))
  expect(implementation).toMatchObject({
    params_mapping: { id: 'id', most: 'limit' },
    params_in: { most: 'header' },
    body_param: 'most',
  })
})

test('a removed parameter is gone everywhere', () => {
  const tool = { ...TOOL, implementation: { ...TOOL.implementation, params_in: { limit: 'header' } } }
  const { parameters, implementation } = toolOf(tool, withParameter(draftOf(tool), 'limit', { removed: true }))
  expect(parameters.properties).toEqual({ id: { type: 'string' } })
  expect(implementation).toEqual(TOOL.implementation)
})

test('a default and examples of another type are dropped', () => {
  const { parameters } = toolOf(TOOL, withParameter(draftOf(TOOL), 'limit', { type: 'string', description: '' }))
  expect(Object(parameters.properties).limit).toEqual({ type: 'string' })
})

test('a parameter of the path is required and stays', () => {
  const [id, limit] = draftOf({ ...TOOL, parameters: { ...TOOL.parameters, required: [] } }).parameters
  expect(id).toMatchObject({ fixed: true, required: true })
  expect(limit).toMatchObject({ fixed: false, required: false })
})

test('reads environment variables if the server stores no secrets', () => {
  const auth = { type: 'bearer', token: '${secret:API_TOKEN}' }
  const { implementation } = withVariables({ ...TOOL, implementation: { ...TOOL.implementation, auth } })
  expect(implementation.auth).toEqual({ type: 'bearer', token: '${API_TOKEN}' })
})

test('says what is wrong, by field', () => {
  const draft = withParameter({ ...draftOf(TOOL), name: 'get user', description: ' ' }, 'limit', { name: 'id' })
  expect([...draftProblems(draft).keys()]).toEqual(['name', 'description', 'id', 'limit'])
  expect(draftProblems(draftOf(TOOL)).size).toBe(0)
  // Removed parameters don't count.
  expect([...draftProblems(withParameter(draft, 'limit', { removed: true })).keys()]).toEqual(['name', 'description'])
})
