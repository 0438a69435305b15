import { describe, expect, test } from 'vitest'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import { PAGE_SIZE, ToolPages } from './tool-server.ts'

const run = async () => 1
const name = (index: number) => `tool_${String(index).padStart(4, '0')}`

function yardOf(count: number) {
  const { registry, add } = toolyard()
  for (let index = 0; index < count; index++) add(name(index), run)
  return { registry, add, pages: new ToolPages(registry, (tool) => tool.effect) }
}

const names = ({ tools }: { tools: readonly { name: string }[] }) => tools.map((tool) => tool.name)

describe('ToolPages', () => {
  test('gives a page at a time, and no cursor with the last', () => {
    const { pages } = yardOf(PAGE_SIZE + 1)
    const first = pages.page({})
    const second = pages.page({}, first.nextCursor)
    expect(names(first)).toHaveLength(PAGE_SIZE)
    expect(names(second)).toEqual([name(PAGE_SIZE)])
    expect(second.nextCursor).toBeUndefined()
  })

  test('returns no cursor for an exactly full last page', () => {
    expect(yardOf(PAGE_SIZE).pages.page({}).nextCursor).toBeUndefined()
  })

  test('a tool that goes or comes between two pages neither repeats nor hides another', () => {
    const { pages, registry, add } = yardOf(PAGE_SIZE + 2)
    const first = pages.page({})
    registry.unregister(name(PAGE_SIZE - 1))
    registry.unregister(name(3))
    add('a_new_one', run)
    expect(names(pages.page({}, first.nextCursor))).toEqual([name(PAGE_SIZE), name(PAGE_SIZE + 1)])
  })

  test('rejects a foreign cursor', () => {
    const fault = 'The cursor is not from this server: start again without one'
    for (const cursor of ['nonsense', '', 'YWZ0ZXI']) expect(() => yardOf(1).pages.page({}, cursor)).toThrow(fault)
  })

  test('builds a list once per set of rights and registry version', () => {
    const { pages, registry, add } = yardOf(3)
    let read = 0
    const definitions = registry.definitions.bind(registry)
    registry.definitions = () => {
      read++
      return definitions()
    }
    const page = pages.page({ flags: { a: true, b: false } })
    expect(pages.page({ flags: { b: false, a: true } })).toEqual(page)
    expect(read).toBe(1)
    pages.page({ flags: { b: true, a: true } })
    expect(read).toBe(2)
    add('another', run)
    expect(names(pages.page({ flags: { a: true, b: false } }))).toContain('another')
    expect(read).toBe(3)
  })

  test('omits tools that the caller may not see', () => {
    const { pages, add } = yardOf(1)
    add('secret', run, { permissions: ['secrets'] })
    expect(names(pages.page({}))).toEqual([name(0)])
    expect(names(pages.page({ flags: { secrets: true } }))).toEqual(['secret', name(0)])
    expect(names(pages.page({ flags: { [name(0)]: false } }))).toEqual([])
    expect(names(pages.page({ visible: new Set(['secret']), flags: { secrets: true } }))).toEqual(['secret'])
  })

  test('a schema that clients would refuse the list for is shown as that of any object', () => {
    const { pages, add } = yardOf(0)
    add('odd_required', run, { parameters: { type: 'object', required: true } })
    add('odd_properties', run, { parameters: { type: 'object', properties: [] } })
    add('refused', run, { parameters: { type: 'object', $async: true } })
    for (const tool of pages.page({}).tools) expect(tool.inputSchema).toEqual({ type: 'object' })
  })

  test('a tool of LangChain is listed like any other', () => {
    const { pages, registry } = yardOf(0)
    registry.diagnoseBy(() => undefined)
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    registry.register({ name: 'chained', description: 'A tool of LangChain', schema, invoke: run })
    expect(pages.page({}).tools).toEqual([{ name: 'chained', description: 'A tool of LangChain', inputSchema: schema }])
  })

  test('nothing of the implementation is shown', () => {
    const { pages, add, registry } = yardOf(0)
    registry.diagnoseBy(() => undefined)
    add('mocked', run, { implementation: { type: 'mock', mock_response: 'a secret' }, timeout_ms: 5 })
    const inputSchema = { type: 'object', properties: {} }
    expect(pages.page({})).toEqual({ tools: [{ name: 'mocked', description: 'mocked', inputSchema }] })
  })
})
