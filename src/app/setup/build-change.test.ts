import { describe, expect, test } from 'vitest'
import { checkedServers, pastedServers, withoutSecrets } from './build-change.ts'
import { checkReferences, NewSecrets } from './references.ts'

const FILES = { command: 'npx', args: ['-y', 'files'] }

test.each([
  ['{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files"]}}}', { files: FILES }],
  ['{"servers": {"files": {"type": "stdio", "command": "npx"}}}', { files: { type: 'stdio', command: 'npx' } }],
  ['{"mcp": {"servers": {"files": {"command": "npx"}}}}', { files: { command: 'npx' } }],
  ['{"files": {"command": "npx", "args": ["-y", "files"]}}', { files: FILES }],
  ['{"files": {"command": "npx", "timeout": 90000}}', { files: { command: 'npx', timeout: 90_000 } }],
  ['"files": {"command": "npx", "args": ["-y", "files"],},', { files: FILES }],
  ['// from the README\n{"command": "/usr/bin/uvx", "args": []}', { uvx: { command: '/usr/bin/uvx', args: [] } }],
  ['https://mcp.linear.app/mcp', { linear: { url: 'https://mcp.linear.app/mcp' } }],
  [' http://127.0.0.1:3000/mcp ', { local: { url: 'http://127.0.0.1:3000/mcp' } }],
])('reads %s', (text, servers) => {
  expect(pastedServers(text)).toEqual(servers)
})

test.each([
  ['hello', 'neither JSON nor a URL'],
  ['[]', 'neither JSON nor a URL'],
  ['{}', 'no MCP server'],
  ['{"mcpServers": {"a": {}}}', 'neither "command" nor "url"'],
  ['{"../../etc": {"url": "http://a"}}', 'not a name'],
  ['{"a/b": {"url": "http://a"}}', 'not a name'],
  [`{"${'a'.repeat(65)}": {"url": "http://a"}}`, 'not a name'],
])('refuses %s', (text, problem) => {
  expect(() => pastedServers(text)).toThrow(problem)
})

test('refuses __proto__, too many servers and long ones', () => {
  expect(() => checkedServers(JSON.parse('{"__proto__": {"url": "http://a"}}'))).toThrow('not a name')
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`s${at}`, { url: 'http://a' }]))
  expect(() => checkedServers(many)).toThrow('at most 20')
  expect(() => checkedServers({ a: { url: 'http://a', note: 'x'.repeat(70_000) } })).toThrow('longer than 64 KB')
})

test('moves secrets to the store', () => {
  const secrets = new NewSecrets({ taken: ['GITHUB_TOKEN'] })
  const entry = withoutSecrets(
    'git hub',
    {
      command: 'npx',
      args: ['--api-key', 'abc', '--verbose', 'x'],
      env: { GITHUB_TOKEN: 'ghp_abcdefghijklmnopqrstuvwx', LANG: 'en', PORT: 1 },
      headers: { Authorization: 'Bearer 0123456789' },
    },
    secrets,
  )
  expect(entry).toEqual({
    command: 'npx',
    args: ['--api-key', '${secret:GIT_HUB_SECRET}', '--verbose', 'x'],
    env: { GITHUB_TOKEN: '${secret:GITHUB_TOKEN_2}', LANG: 'en', PORT: 1 },
    headers: { Authorization: '${secret:GIT_HUB_AUTHORIZATION}' },
  })
  expect(secrets.list.map(({ value }) => value)).toEqual(['abc', 'ghp_abcdefghijklmnopqrstuvwx', 'Bearer 0123456789'])
})

describe('references', () => {
  const check = (value: unknown) =>
    checkReferences(value, { secrets: new Set(['KNOWN']), variable: (name) => name === 'ALLOWED' })

  test.each(['${secret:KNOWN}', 'Bearer ${ALLOWED}', '${env:ALLOWED}', '${ALLOWED:-x}', 'costs $5', '{id}'])(
    'allows %s',
    (text) => {
      expect(() => check({ a: [text] })).not.toThrow()
    },
  )

  test.each([
    ['${cmd:id}', "can't be written from the page"],
    ['${file:/etc/passwd}', "can't be written from the page"],
    ['${${cmd:id}}', "can't be written from the page"],
    ['${ALLOWED:-${cmd:id}}', "can't be written from the page"],
    ['${secret:KNOWN', "can't be written from the page"],
    ['${input:token}', "can't be written from the page"],
    ['${secret:OTHER}', 'no value for the secret OTHER'],
    ['${OTHER}', "The variable OTHER can't be used"],
    ['${TOOLYARD_ENCRYPTION_KEY}', 'variables of Toolyard itself'],
  ])('refuses %s', (text, problem) => {
    expect(() => check({ a: text })).toThrow(problem)
    expect(() => check({ [text]: 1 })).toThrow(problem)
  })
})

test('a secret keeps one value and never replaces a stored one', () => {
  expect(() => new NewSecrets({ taken: ['A'] }, [{ name: 'A', value: 'x' }])).toThrow('already a secret A')
  const twice = [
    { name: 'A', value: 'x' },
    { name: 'A', value: 'y' },
  ]
  expect(() => new NewSecrets({ taken: [] }, twice)).toThrow('has two values')
  expect(() => new NewSecrets({ taken: [] }, [{ name: '../A', value: 'x' }])).toThrow('is not a name for a secret')
  expect(() => new NewSecrets({ taken: [] }, [{ name: 'A', value: ' ' }])).toThrow('is empty')
})

test('repairs short texts only', () => {
  const entry = '"a": { "url": "https://a.example/mcp", },'
  expect(pastedServers(`{${entry}}`)).toEqual({ a: { url: 'https://a.example/mcp' } })
  const long = `{"note": "${'x'.repeat(40_000)}", ${entry}}`
  expect(() => pastedServers(long)).toThrow('too long to be repaired')
})

test.each([2_000, 30_000])('refuses pasted servers that are nested %d levels deep', (levels) => {
  const deep = '['.repeat(levels) + ']'.repeat(levels)
  expect(() => pastedServers(`{"mcpServers":{"a":{"url":"http://a","x":${deep}}}}`)).toThrow(
    'The text is nested deeper than 512 levels: flatten it',
  )
  expect(() => pastedServers(`{"mcpServers":{"a":{"url":"http://a","x":${deep},}}}`)).toThrow()
})
