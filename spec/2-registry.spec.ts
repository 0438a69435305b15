import { ToolRegistry } from 'toolyard'
import { describe, expect, test } from 'vitest'
import { household, mcpYard } from './mcp-yard.ts'
import { mock, yard } from './yard.ts'

describe('Registry', () => {
  test('the same name again in code: a warning, and the new registration replaces the old one', async () => {
    const { registry, execute, log } = await yard({ greet: { run: () => 'old' } })
    expect(await execute('greet')).toMatchObject({ result: 'old' })
    registry.register(mock('greet', 'new'))
    expect(log.at('warn')).toMatchObject([{ tool: 'greet' }])
    expect(await execute('greet')).toMatchObject({ result: 'new' })
    expect(registry.list()).toHaveLength(1)
  })

  test('an MCP tool never replaces a tool: where its name is taken it joins as <server>__<tool>', async () => {
    const { connected, registry, execute } = await mcpYard({ home: household() }, { registry: [mock('look', 'local')] })
    await connected()
    expect(await execute('look')).toMatchObject({ result: 'local' })
    expect(await execute('home__look')).toMatchObject({ result: 'dark' })
    expect(registry.has('home__ring')).toBe(false)
  })

  test('the bare name belongs to local tools, then to the server that stands first in the configuration', async () => {
    const { connected, registry } = await mcpYard(
      { upstairs: household(), downstairs: household() },
      { registry: [mock('look', 'local')] },
    )
    await connected()
    expect(registry.get('look')?.implementation?.type).toBe('mock')
    expect(registry.get('ring')?.implementation).toMatchObject({ server: 'upstairs' })
    expect(registry.get('downstairs__ring')?.implementation).toMatchObject({ server: 'downstairs' })
    expect(registry.has('upstairs__look') && registry.has('downstairs__look')).toBe(true)
  })

  test('find(name) gives undefined when there is none', () => {
    const registry = new ToolRegistry()
    expect(registry.find('nobody')).toBeUndefined()
    expect(registry.find('constructor')).toBeUndefined()
  })

  test('find(name) also finds LangChain tools by lc_name', () => {
    const registry = new ToolRegistry()
    const schema = { type: 'object' }
    const tool = { name: 'search', lc_name: 'DocumentSearch', description: 'Searches', schema, invoke: async () => [] }
    registry.register(tool)
    expect(registry.find('DocumentSearch')).toBe(tool)
    expect(registry.find('search')).toBe(tool)
  })

  test('Lookup takes the same time with 10 tools and with 10,000', () => {
    // Counted, not timed: however many tools there are, a lookup looks at the same number of them.
    const looksAt = (count: number): number => {
      const registry = new ToolRegistry()
      let looks = 0
      for (let n = 0; n < count; n++)
        registry.register(
          new Proxy(mock(`tool_${n}`), {
            get: (tool, key) => {
              looks++
              return Reflect.get(tool, key)
            },
          }),
        )
      looks = 0
      registry.find('tool_7')
      registry.find('nobody')
      return looks
    }
    expect(looksAt(10_000)).toBe(looksAt(10))
  })

  test('tools of different origin (configuration, code) live in one collection, are executed the same way', async () => {
    const { registry, execute } = await yard({ configured: { run: () => 'from configuration' } })
    const coded = mock('coded')
    registry.register(coded)
    expect(registry.list().map(({ name }) => name)).toEqual(['configured', 'coded'])
    expect(registry.get('coded')).toBe(coded)
    expect(await execute('coded')).toMatchObject({ success: true, result: 'coded' })
    expect(await execute('configured')).toMatchObject({ success: true, result: 'from configuration' })
  })

  test('tools of different origin (LangChain) live in one collection, are executed the same way', async () => {
    const { registry, execute, records } = await yard({ configured: { run: () => 'from configuration' } })
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const chained = { name: 'chained', description: 'A LangChain tool', schema, invoke: async () => 'from LangChain' }
    registry.register(chained)
    expect(registry.list()[1]).toBe(chained)
    expect(registry.get('chained')).toBe(chained)
    expect(await execute('chained')).toMatchObject({ success: true, result: 'from LangChain' })
    expect(await execute('chained', { a: 1 })).toMatchObject({ error: 'Invalid parameters: a must be a string' })
    expect(await execute('chained', {}, { flags: { chained: false } })).toMatchObject({
      error_code: 'PERMISSION_DENIED',
    })
    expect(records().map(({ tool }) => tool)).toEqual(['chained', 'chained', 'chained'])
  })

  test('tools of different origin (MCP) live in one collection, are executed the same way', async () => {
    const { connected, registry, execute } = await mcpYard({ home: household() }, { registry: [mock('configured')] })
    await connected()
    expect(registry.list().map(({ name }) => name)).toEqual(expect.arrayContaining(['configured', 'ring']))
    expect(Object.keys(await execute('ring'))).toEqual(Object.keys(await execute('configured')))
  })
})
