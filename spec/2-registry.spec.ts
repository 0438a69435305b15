import { ToolRegistry } from 'toolyard'
import { describe, expect, test } from 'vitest'
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

  test.todo('an MCP tool never replaces a tool: where its name is taken it joins as <server>__<tool>')

  test.todo('the bare name belongs to local tools, then to the server that stands first in the configuration')

  test('find(name) gives undefined when there is none', () => {
    const registry = new ToolRegistry()
    expect(registry.find('nobody')).toBeUndefined()
    expect(registry.find('constructor')).toBeUndefined()
  })

  test('find(name) also finds LangChain tools by lc_name', () => {
    const registry = new ToolRegistry()
    const tool = { ...mock('search'), lc_name: 'DocumentSearch' }
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

  test.todo('tools of different origin (MCP, LangChain) live in one collection, are executed the same way')
})
