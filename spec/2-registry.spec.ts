import { ToolRegistry } from 'toolyard'
import { describe, expect, test } from 'vitest'
import { household, withMcpServers } from './fixtures/mcp-servers.ts'
import { mock, withTools } from './fixtures/tool-manager.ts'

describe('Registry', () => {
  test('[2.2-1] replaces a tool registered again under the same name, with a warning', async () => {
    const { registry, execute, log } = await withTools({ greet: { run: () => 'old' } })
    expect(await execute('greet')).toMatchObject({ result: 'old' })
    registry.register(mock('greet', 'new'))
    expect(log.at('warn')).toMatchObject([{ tool: 'greet' }])
    expect(await execute('greet')).toMatchObject({ result: 'new' })
    expect(registry.list()).toHaveLength(1)
  })

  test('[2.2-2] registers an MCP tool as <server>__<tool> when its name is taken', async () => {
    const { connected, registry, execute } = await withMcpServers(
      { home: household() },
      { registry: [mock('look', 'local')] },
    )
    await connected()
    expect(await execute('look')).toMatchObject({ result: 'local' })
    expect(await execute('home__look')).toMatchObject({ result: 'dark' })
    expect(registry.has('home__ring')).toBe(false)
  })

  test('[2.2-3] gives the bare name to local tools, then to the first server in the configuration', async () => {
    const { connected, registry } = await withMcpServers(
      { upstairs: household(), downstairs: household() },
      { registry: [mock('look', 'local')] },
    )
    await connected()
    expect(registry.get('look')?.implementation?.type).toBe('mock')
    expect(registry.get('ring')?.implementation).toMatchObject({ server: 'upstairs' })
    expect(registry.get('downstairs__ring')?.implementation).toMatchObject({ server: 'downstairs' })
    expect(registry.has('upstairs__look') && registry.has('downstairs__look')).toBe(true)
  })

  test('[2.2-4] finds nothing for an unknown name', () => {
    const registry = new ToolRegistry()
    expect(registry.find('nobody')).toBeUndefined()
    expect(registry.find('constructor')).toBeUndefined()
  })

  test('[2.2-5] finds LangChain tools by lc_name', () => {
    const registry = new ToolRegistry()
    const schema = { type: 'object' }
    const tool = { name: 'search', lc_name: 'DocumentSearch', description: 'Searches', schema, invoke: async () => [] }
    registry.register(tool)
    expect(registry.find('DocumentSearch')).toBe(tool)
    expect(registry.find('search')).toBe(tool)
  })

  test('[2.2-6] looks up in the same time with 10 tools and with 10,000', () => {
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

  test('[2.2-7] holds and executes tools of the configuration and of code alike', async () => {
    const { registry, execute } = await withTools({ configured: { run: () => 'from configuration' } })
    const coded = mock('coded')
    registry.register(coded)
    expect(registry.list().map(({ name }) => name)).toEqual(['configured', 'coded'])
    expect(registry.get('coded')).toBe(coded)
    expect(await execute('coded')).toMatchObject({ success: true, result: 'coded' })
    expect(await execute('configured')).toMatchObject({ success: true, result: 'from configuration' })
  })

  test('[2.2-7] holds and executes LangChain tools like any other', async () => {
    const { registry, execute, records } = await withTools({ configured: { run: () => 'from configuration' } })
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

  test('[2.2-7] holds and executes MCP tools like any other', async () => {
    const { connected, registry, execute } = await withMcpServers(
      { home: household() },
      { registry: [mock('configured')] },
    )
    await connected()
    expect(registry.list().map(({ name }) => name)).toEqual(expect.arrayContaining(['configured', 'ring']))
    expect(Object.keys(await execute('ring'))).toEqual(Object.keys(await execute('configured')))
  })
})
