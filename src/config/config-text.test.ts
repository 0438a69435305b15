import { expect, test } from 'vitest'
import { configDiff, editConfig, isSecretText } from './config-text.ts'

const edit = (text: string, path: readonly (string | number)[], value: unknown) =>
  editConfig(text, [{ path, value }], 'toolyard.config.json')

test('keeps the formatting of everything else', () => {
  const text = '{\n\t"mcpServers" : {\n\t\t"a": { "url":"http://a" }\n\t},\n\n\t"models": [ ]\n}\n'
  expect(edit(text, ['mcpServers', 'b'], { url: 'http://b' })).toBe(
    '{\n\t"mcpServers" : {\n\t\t"a": { "url":"http://a" },\n\t\t"b": { "url": "http://b" }\n\t},\n\n\t"models": [ ]\n}\n',
  )
  const windows = '{\r\n  "models": []\r\n}\r\n'
  expect(edit(windows, ['models', -1], { id: 'a:b' })).toBe('{\r\n  "models": [\r\n    { "id": "a:b" }\r\n  ]\r\n}\r\n')
  expect(edit('\uFEFF{}', ['tools', 'registry', -1], 'summarize')).toBe(
    '\uFEFF{\n  "tools": { "registry": ["summarize"] }\n}',
  )
})

test.each([2_000, 100_000])('refuses to change a text that is nested %d levels deep', (levels) => {
  const text = `{"tools": {"registry": [${'['.repeat(levels)}${']'.repeat(levels)}]}}`
  expect(() => edit(text, ['tools', 'registry', -1], { name: 'a' })).toThrow(
    'toolyard.config.json is nested deeper than 512 levels: flatten it before you change it.',
  )
})

test('puts a long value on several lines, and leaves its neighbours on theirs', () => {
  const value = { description: 'x'.repeat(60), parameters: { type: 'object', required: ['a', 'b'] } }
  expect(edit('{\n  "tools": { "registry": [{ "name": "a" }] }\n}', ['tools', 'registry', -1], value)).toBe(`{
  "tools": { "registry": [
    { "name": "a" },
    {
      "description": "${'x'.repeat(60)}",
      "parameters": { "type": "object", "required": ["a", "b"] }
    }
  ] }
}`)
})

test('replaces a value that is there, and nothing else', () => {
  const text = '{\n  "storage": { "payloads":"off", "keep_days": 7 },\n  "models": [ ]\n}\n'
  expect(edit(text, ['storage', 'payloads'], 'all')).toBe(text.replace('"off"', '"all"'))
  expect(edit('{\n  "models": []\n}', ['storage', 'payloads'], 'all')).toBe(
    '{\n  "models": [],\n  "storage": { "payloads": "all" }\n}',
  )
  expect(() => edit('{"storage": {"payloads": "off", "payloads": "all"}}', ['storage', 'payloads'], 'errors')).toThrow(
    'twice',
  )
})

test('refuses a file with the same key twice', () => {
  const text = '{"tools": {"enabled": true}, "tools": {"enabled": false}}'
  expect(() => edit(text, ['tools', 'registry', -1], 'summarize')).toThrow("the key 'tools' or one below it twice")
})

test('writes a key called __proto__ as any other', () => {
  const edited = edit('{"mcpServers": {}}', ['mcpServers', '__proto__'], { url: 'http://a' })
  expect(Object.keys(JSON.parse(edited).mcpServers)).toEqual(['__proto__'])
  expect(({} as { url?: string }).url).toBeUndefined()
})

test('shows removed lines before added ones', () => {
  const diff = configDiff('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "b": 2\n}\n', 'toolyard.config.json')
  expect(diff.split('\n').slice(3, -1)).toEqual([' {', '-  "a": 1', '+  "a": 1,', '+  "b": 2', ' }'])
})

test('shows no secrets in a diff', () => {
  const before = '{\n  "providers": {\n    "openai": { "api_key": "sk-live-0123456789abcdef" }\n  }\n}\n'
  const after = edit(before, ['providers', 'other'], { base_url: 'http://x', api_key: '${secret:OTHER}' })
  const diff = configDiff(before, after, 'toolyard.config.json')
  expect(diff).toContain('[redacted]')
  expect(diff).toContain('+    "other": { "base_url": "http://x", "api_key": "${secret:OTHER}" }')
  expect(diff).not.toContain('0123456789')
})

test('tells secrets from references to them', () => {
  expect(isSecretText('Authorization', 'Bearer abcdefgh12345678')).toBe(true)
  expect(isSecretText('GITHUB_TOKEN', 'x')).toBe(true)
  expect(isSecretText('GITHUB_TOKEN', '${GITHUB_TOKEN}')).toBe(false)
  expect(isSecretText('Authorization', 'Bearer ${secret:A}')).toBe(false)
  expect(isSecretText('LANG', 'en')).toBe(false)
})

test('adds many values in one step, to an array that exists or not', () => {
  const edits = ['a', 'b'].map((value) => ({ path: ['tools', 'registry', -1], value }))
  expect(editConfig('{}', edits, 'f')).toBe('{\n  "tools": { "registry": ["a", "b"] }\n}')
  expect(editConfig('{"tools": {"registry": ["z"]}}', edits, 'f')).toBe('{"tools": {"registry": ["z", "a", "b"]}}')
  const open = '{\n  "tools": {\n    "registry": [\n      "z"\n    ]\n  }\n}'
  expect(JSON.parse(editConfig(open, edits, 'f'))).toEqual({ tools: { registry: ['z', 'a', 'b'] } })
})

test('shows a change of many lines without comparing each with each', () => {
  const before = '{\n  "a": [\n    0\n  ]\n}\n'
  const lines = Array.from({ length: 30_000 }, (_, index) => `    ${index}`)
  const shown = configDiff(before, `{\n  "a": [\n    0,\n${lines.join(',\n')}\n  ]\n}\n`, 'f').split('\n')
  expect(shown.slice(2, 8)).toEqual(['@@ -1,5 +1,30005 @@', ' {', '   "a": [', '-    0', '+    0,', '+    0,'])
  expect(shown).toHaveLength(30_010)
})

test('removes an entry with its comma, and nothing else', () => {
  const remove = (text: string, ...path: (string | number)[]) => editConfig(text, [{ path }], 'toolyard.config.json')
  const text =
    '{\n  "providers": {\n    "a": { "x":1 },\n    "b": {}\n  },\n  "models": [ { "id": "a:1" }, { "id": "b:1" } ]\n}\n'
  expect(remove(text, 'providers', 'a')).toBe(text.replace('    "a": { "x":1 },\n', ''))
  expect(remove(text, 'providers', 'b')).toBe(text.replace(',\n    "b": {}', ''))
  expect(remove(text, 'models', 0)).toBe(text.replace('{ "id": "a:1" }, ', ''))
  expect(remove(text, 'models', 1)).toBe(text.replace(', { "id": "b:1" }', ''))
  expect(remove(text, 'models')).toBe(text.replace(/,\n {2}"models".*\]/, ''))
  expect(remove('{ "models": [\n  "one"\n] }', 'models', 0)).toBe('{ "models": [] }')
  expect(() => remove('{"providers": {"a": {}, "a": {"x": 1}}}', 'providers', 'a')).toThrow('twice')
})
