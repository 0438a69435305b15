import { describe, expect, test, vi } from 'vitest'
import type { OfferedTool } from '../models/model.ts'
import { scripted } from '../testing/stand-ins.ts'
import { ClientToolError } from './client-tools.ts'
import { call, GO, loopSetup, told, wellFormed } from './fixtures/loop-setup.ts'

const open_door: OfferedTool = {
  name: 'open_door',
  description: 'Opens a door in the client.',
  parameters: { type: 'object', properties: { door: { type: 'string' } } },
}

describe('client tools', () => {
  test('are offered with the registered tools', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const model = scripted('Hi.')
    await loop.answer({ model, messages: GO, client_tools: [open_door] })
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['tool', 'open_door'])
  })

  test('end the run when called, and return the call', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const model = scripted(call('tool'), { text: 'I open it.', ...call('open_door', { door: 'front' }) })
    const { answer, messages } = await told(loop.run({ model, messages: GO, client_tools: [open_door] }))
    expect(answer).toMatchObject({ content: 'I open it.', stop_reason: 'stop' })
    expect(answer.tool_calls).toHaveLength(1)
    const handed = { id: 'call_2', type: 'function', function: { name: 'open_door', arguments: '{"door":"front"}' } }
    expect(answer.client_calls).toEqual([handed])
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'I open it.', tool_calls: [handed] })
  })

  test('prevent registered tools of the same turn from running, and tell the model', async () => {
    const { loop, add } = loopSetup()
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

  test('do not affect turns that call none of them', async () => {
    const { loop, add } = loopSetup()
    add('tool', () => 1)
    const answer = await loop.answer({
      model: scripted(call('tool'), 'Done.'),
      messages: GO,
      client_tools: [open_door],
    })
    expect(answer).toMatchObject({ content: 'Done.', tool_calls: [{ tool: 'tool' }] })
    expect(answer).not.toHaveProperty('client_calls')
  })

  test('are rejected if their name is taken', async () => {
    const { loop, add } = loopSetup()
    add('open_door', () => 1)
    const model = scripted('Hi.')
    const refused = loop.answer({ model, messages: GO, client_tools: [open_door] })
    await expect(refused).rejects.toThrow(ClientToolError)
    await expect(refused).rejects.toThrow("The tool 'open_door' already exists")
    expect(model.requests).toEqual([])
  })

  test('may have the name of a tool that the caller cannot see', async () => {
    const { loop, add } = loopSetup()
    add('open_door', () => 1, { permissions: ['doors'] })
    const model = scripted(call('open_door'))
    const answer = await loop.answer({ model, messages: GO, client_tools: [open_door] })
    expect(answer.client_calls).toHaveLength(1)
  })

  test('are rejected if two have the same name', async () => {
    const { loop } = loopSetup()
    const refused = loop.answer({ model: scripted('Hi.'), messages: GO, client_tools: [open_door, open_door] })
    await expect(refused).rejects.toThrow("Two client tools are named 'open_door'")
  })
})
