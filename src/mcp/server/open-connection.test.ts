import { ProtocolError } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { type Era, httpYard, until } from './fixtures/http-yard.ts'
import type { Library } from './library.ts'

const NOTE = { uri: 'note://1', name: 'note', mimeType: 'text/plain' }

function memoryLibrary(): Library & { change(): void } {
  let listener = (_what: 'resources' | 'prompts') => {}
  return {
    change: () => listener('resources'),
    onChange(told) {
      listener = told
      return () => {}
    },
    listResources: async ({ tenant }) => (tenant === 'other' ? [] : [NOTE]),
    listResourceTemplates: async () => [{ uriTemplate: 'note://{id}', name: 'notes' }],
    readResource: async (uri) => {
      if (uri === 'note://down') throw new Error('connect ECONNREFUSED 10.0.0.7:80')
      if (uri === 'note://denied') throw new ProtocolError(-32_005, 'The server says no')
      return uri === NOTE.uri ? { contents: [{ uri, text: 'Buy milk' }] } : undefined
    },
    listPrompts: async () => [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
    getPrompt: async (name, { who }) =>
      name === 'greet' ? { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}` } }] } : undefined,
  }
}

describe.each<Era>(['legacy', 'modern'])('resources and prompts for a client of the %s era', (era) => {
  test('are listed, read and got', async () => {
    const { client } = await httpYard({ library: memoryLibrary() })
    const connected = await client(era)
    expect((await connected.listResources()).resources).toEqual([NOTE])
    expect((await connected.listResourceTemplates()).resourceTemplates).toMatchObject([{ uriTemplate: 'note://{id}' }])
    expect((await connected.readResource({ uri: NOTE.uri })).contents).toEqual([{ uri: NOTE.uri, text: 'Buy milk' }])
    expect((await connected.listPrompts()).prompts).toMatchObject([{ name: 'greet' }])
    const { messages } = await connected.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })
    expect(messages[0]?.content).toEqual({ type: 'text', text: 'Greet Ada' })
  })

  test('that are not there are errors of the protocol', async () => {
    const { client } = await httpYard({ library: memoryLibrary() })
    const connected = await client(era)
    await expect(connected.readResource({ uri: 'note://2' })).rejects.toMatchObject({
      message: expect.stringContaining("Resource 'note://2' not found"),
      data: { uri: 'note://2' },
    })
    await expect(connected.getPrompt({ name: 'part' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("Prompt 'part' not found"),
    })
  })

  test('what their server says reaches the client unchanged, and what it is reached by does not', async () => {
    const { client, log } = await httpYard({ library: memoryLibrary() })
    const connected = await client(era)
    await expect(connected.readResource({ uri: 'note://denied' })).rejects.toMatchObject({ code: -32005 })
    const fault = await connected.readResource({ uri: 'note://down' }).catch((error: Error) => error.message)
    expect(fault).toContain("Resource 'note://down' could not be read")
    expect(fault).not.toContain('10.0.0.7')
    expect(log.lines.some(({ message }) => message.includes('note://down'))).toBe(true)
  })

  test('changes are told', async () => {
    const library = memoryLibrary()
    const { client } = await httpYard({ library })
    let told = 0
    const onChanged = () => void told++
    await client(era, {}, { listChanged: { resources: { onChanged, autoRefresh: false } } })
    library.change()
    await until(() => told === 1)
  })
})

test('without a library neither is offered', async () => {
  const { client } = await httpYard()
  expect((await client('legacy')).getServerCapabilities()).not.toHaveProperty('resources')
})
