import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../core/tool.ts'
import { compareDefinitions } from './compare-definitions.ts'

const tool = (name: string, more: object = {}, inside: object = {}): ToolDefinition => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: 'object', properties: { a: { type: 'string', description: 'A' } } },
  implementation: { type: 'http', method: 'GET', url: `https://a.example/${name}`, ...inside },
  ...more,
})
const compare = (before: ToolDefinition[], now: ToolDefinition[], keepsAuth = false) => {
  const file: ToolDefinition[] = JSON.parse(JSON.stringify(before))
  return compareDefinitions(
    file.map((one) => ({ ...one })),
    now,
    keepsAuth,
  )
}

describe('comparing an import with the previous one', () => {
  test('reports added, removed, changed and unchanged tools', () => {
    const now = [
      tool('new'),
      tool('same'),
      tool('moved', {}, { url: 'https://b.example', body: 'form' }),
      tool('other', { description: 'Else.' }),
    ]
    expect(compare([tool('gone'), tool('same'), tool('moved'), tool('other')], now)).toMatchObject({
      added: ['new'],
      removed: ['gone'],
      changed: [
        { name: 'moved', keys: ['implementation.url', 'implementation.body'] },
        { name: 'other', keys: ['description'] },
      ],
      unchanged: ['same'],
      kept: [],
      definitions: now,
    })
  })

  test('ignores the order of keys', () => {
    const { name, ...rest } = tool('a')
    const parameters = { properties: { a: { description: 'A', type: 'string' } }, type: 'object' }
    expect(compare([{ ...rest, name, parameters }], [tool('a')]).unchanged).toEqual(['a'])
  })

  test('keeps keys that were added by hand', () => {
    const own = { timeout_ms: 5, permissions: ['x'], effect: 'read' as const }
    const inside = { response_path: '$.data', pick: ['id'], url: 'https://by-hand.example' }
    const { definitions, kept, changed } = compare([tool('a', own, inside)], [tool('a')])
    expect(definitions).toEqual([tool('a', own, { response_path: '$.data', pick: ['id'] })])
    expect(kept).toEqual([
      {
        name: 'a',
        keys: ['timeout_ms', 'permissions', 'effect', 'implementation.response_path', 'implementation.pick'],
      },
    ])
    expect(changed).toEqual([{ name: 'a', keys: ['implementation.url'] }])
  })

  test('keeps auth only if the document has no security', () => {
    const auth = { type: 'bearer', token: '${T}' }
    expect(compare([tool('a', {}, { auth })], [tool('a')], true).definitions[0]?.implementation.auth).toEqual(auth)
    expect(compare([tool('a', {}, { auth })], [tool('a')], false)).toMatchObject({
      changed: [{ keys: ['implementation.auth'] }],
      kept: [],
    })
  })
})
