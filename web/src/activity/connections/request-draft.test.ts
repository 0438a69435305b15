import { expect, test } from 'vitest'
import { calledTool, draftOf, isIncomplete } from './request-draft.ts'

const sent = { number: 1, time: '', direction: 'sent', kind: 'request', id: '7' } as const

test('a recorded request becomes a draft, with the answer that belongs to it', () => {
  const request = { ...sent, method: 'prompts/get', content: { name: 'greet', _meta: { progressToken: 1 } } }
  const answer = { ...sent, number: 3, direction: 'received', kind: 'response', method: 'prompts/get' } as const
  const other = { ...answer, number: 2, id: '6' }
  expect(draftOf(request, [request, other, answer])).toEqual({
    key: '1',
    method: 'prompts/get',
    params: { name: 'greet' },
    before: answer,
  })
  expect(draftOf({ ...sent, method: 'resources/read' }, [])).toEqual({
    key: '1',
    method: 'resources/read',
    params: { uri: '' },
  })
})

test('only requests that Toolyard sent and that read become drafts', () => {
  expect(draftOf({ ...sent, method: 'tools/call' }, [])).toBeUndefined()
  expect(draftOf({ ...sent, method: 'initialize' }, [])).toBeUndefined()
  expect(draftOf({ ...sent, method: 'ping', direction: 'received' }, [])).toBeUndefined()
  expect(draftOf({ ...sent, method: 'ping', kind: 'response' }, [])).toBeUndefined()
})

test('a recorded call leads to its tool, under the name in the registry', () => {
  const call = { ...sent, method: 'tools/call', content: { name: 'read', arguments: { path: 'a' } } }
  const tools = [{ name: 'files__read', tool: 'read' }]
  expect(calledTool(call, tools)).toEqual({ name: 'files__read', params: { path: 'a' } })
  expect(calledTool(call, [])).toBeUndefined()
  expect(calledTool({ ...call, method: 'tools/list' }, tools)).toBeUndefined()
})

test('says whether recorded parameters are incomplete', () => {
  expect(isIncomplete({ password: '[redacted]' })).toBe(true)
  expect(isIncomplete({ text: `${'a'.repeat(500)}… (900 characters)` })).toBe(true)
  expect(isIncomplete({ text: 'a' })).toBe(false)
})
