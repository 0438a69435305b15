import { describe, expect, test } from 'vitest'
import { withInclude } from './import.ts'

const ENTRY = '{ "include": "tools/x.json" }'

describe('an include is added to a configuration', () => {
  test.each([
    [
      'behind the last entry, on a line of its own',
      '{\n  "tools": {\n    "registry": [\n      { "name": "a" }\n    ]\n  }\n}\n',
      `{\n  "tools": {\n    "registry": [\n      { "name": "a" },\n      ${ENTRY}\n    ]\n  }\n}\n`,
    ],
    [
      'with tabs',
      '{\n\t"tools": {"registry": [\n\t\t{"name": "a"},\n\t\t{"name": "b"}\n\t]}\n}',
      `{\n\t"tools": {"registry": [\n\t\t{"name": "a"},\n\t\t{"name": "b"},\n\t\t${ENTRY}\n\t]}\n}`,
    ],
    [
      'on the same line',
      '{"tools":{"registry":[{"name":"a"}]},"models":[]}',
      `{"tools":{"registry":[{"name":"a"}, ${ENTRY}]},"models":[]}`,
    ],
  ])('%s', (_, text, expected) => {
    expect(withInclude(text, 'tools/x.json', 'x')).toBe(expected)
  })

  test.each([
    ['no registry', '{"tools": {"enabled": true}}'],
    ['no tools', '{}'],
    ['an empty registry', '{"tools": {"enabled": true, "registry": []}}'],
  ])('where there is %s', (_, text) => {
    const { tools } = JSON.parse(withInclude(text, 'tools/x.json', 'x'))
    expect(tools.registry).toEqual([{ include: 'tools/x.json' }])
  })

  test('whatever stands in the texts of the file', () => {
    const config = {
      tools: { registry: [{ name: 'a', description: 'x]}, "registry": [ # : - \u2028 \\ "' }] },
      'registry: [': 1,
    }
    const edited = JSON.parse(
      withInclude(`\uFEFF${JSON.stringify(config, undefined, 3)}`, 'tools/"x".json', 'x').replace(/^\uFEFF/, ''),
    )
    expect(edited).toEqual({
      ...config,
      tools: { registry: [...config.tools.registry, { include: 'tools/"x".json' }] },
    })
  })
})
