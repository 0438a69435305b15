import { describe, expect, test, vi } from 'vitest'
import type { OfferedTool } from '../models/model.ts'
import { scripted } from '../testing/scripted-model.ts'
import { ClientToolError } from './client-tool-error.ts'
import { call, GO, loopYard, told, wellFormed } from './fixtures/loop-yard.ts'

const open_door: OfferedTool = {
  name: 'open_door',
  description: 'Opens a door in the client.',
  parameters: { type: 'object', properties: { door: { type: 'string' } } },
}

describe('tools of the client', () => {
  test('are offered beside the registered ones', async () => {
    const { loop, add } = loopYard()
    add('tool', () => 1)
    const model = scripted('Hi.')
    await loop.answer({ model, messages: GO, client_tools: [open_door] })
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['tool', 'open_door'])
  })

  test('a turn that calls one ends the run, and hands the call back', async () => {
    const { loop, add } = loopYard()
    add('tool', () => 1)
    const model = scripted(call('tool'), { text: 'I open it.', ...call('open_door', { door: 'front' }) })
    const { answer, messages } = await told(loop.run({ model, messages: GO, client_tools: [open_door] }))
    expect(answer).toMatchObject({ content: 'I open it.', stop_reason: 'stop' })
    expect(answer.tool_calls).toHaveLength(1)
    const handed = { id: 'call_2', type: 'function', function: { name: 'open_door', arguments: '{"door":"front"}' } }
    expect(answer.client_calls).toEqual([handed])
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'I open it.', tool_calls: [handed] })
  })

  test('registered tools of the same turn are not run, and the model can read that', async () => {
    const { loop, add } = loopYard()
    const write = vi.fn(() => 1)
    add('write', write)
    const model = scripted({ calls: [{ name: 'write' }, { name: 'open_door' }] })
    const { answer, messages } = await told(loop.run({ model, messages: GO, client_tools: [open_door] }))
    expect(write).not.toHaveBeenCalled()
    expect(answer.tool_calls).toEqual([])
    expect(answer.client_calls?.map(({ id }) => id)).toEqual(['call_2'])
    expect(messages.slice(1)).toMatchObject([
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1' }, { id: 'call_2' }] },
      { role: 'tool', tool_call_id: 'call_1', content: expect.stringContaining('was not run') },
    ])
    const result = { role: 'tool', tool_call_id: 'call_2', name: 'open_door', content: 'open' } as const
    expect(wellFormed([...messages, result])).toBe(true)
  })

  test('a turn that calls none of them goes on as ever', async () => {
    const { loop, add } = loopYard()
    add('tool', () => 1)
    const answer = await loop.answer({
      model: scripted(call('tool'), 'Done.'),
      messages: GO,
      client_tools: [open_door],
    })
    expect(answer).toMatchObject({ content: 'Done.', tool_calls: [{ tool: 'tool' }] })
    expect(answer).not.toHaveProperty('client_calls')
  })

  test('one with the name of a tool that is offered is refused before anything is asked', async () => {
    const { loop, add } = loopYard()
    add('open_door', () => 1)
    const model = scripted('Hi.')
    const refused = loop.answer({ model, messages: GO, client_tools: [open_door] })
    await expect(refused).rejects.toThrow(ClientToolError)
    await expect(refused).rejects.toThrow("The tool 'open_door' is there already")
    expect(model.requests).toEqual([])
  })

  test('one with the name of a tool that this caller cannot see is its own', async () => {
    const { loop, add } = loopYard()
    add('open_door', () => 1, { permissions: ['doors'] })
    const model = scripted(call('open_door'))
    const answer = await loop.answer({ model, messages: GO, client_tools: [open_door] })
    expect(answer.client_calls).toHaveLength(1)
  })

  test('two of one name are refused', async () => {
    const { loop } = loopYard()
    const refused = loop.answer({ model: scripted('Hi.'), messages: GO, client_tools: [open_door, open_door] })
    await expect(refused).rejects.toThrow("'open_door' is given twice")
  })
})
