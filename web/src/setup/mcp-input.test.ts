import { expect, test } from 'vitest'
import { nameProblem, readServers, renamed, summaryOf } from './mcp-input.ts'

const FILES = { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/tmp'] }

test.each([
  ['the file of a client', { mcpServers: { files: FILES } }],
  ["VS Code's mcp.json", { servers: { files: FILES }, inputs: [] }],
  ["VS Code's settings", { mcp: { servers: { files: FILES } } }],
  ['the inner object', { files: FILES }],
])('reads %s', (_what, json) => {
  expect(readServers(JSON.stringify(json, null, 2))).toEqual({ servers: { files: FILES } })
})

test('reads an entry without the braces around it', () => {
  expect(readServers(`"files": ${JSON.stringify(FILES)},`)).toEqual({ servers: { files: FILES } })
})

test('reads JSON with comments and a comma too many', () => {
  const text = `{\n  // Mine\n  "mcpServers": { "files": ${JSON.stringify(FILES)}, },\n}`
  expect(readServers(text)).toEqual({ servers: { files: FILES } })
})

test('names a single server by its package', () => {
  expect(readServers(JSON.stringify(FILES))).toEqual({ servers: { filesystem: FILES } })
})

test.each([
  ['node /home/me/notes/dist/index.js', 'notes'],
  ['node node_modules/@modelcontextprotocol/server-everything/dist/index.mjs', 'everything'],
  ['python weather-server.py', 'weather'],
  ['node C:\\tools\\search\\main.ts', 'search'],
  ['node index.js', 'index'],
])('names the server of the command %s by the first word that says something', (command, name) => {
  const read = readServers(command)
  expect(read && 'servers' in read ? Object.keys(read.servers) : read).toEqual([name])
})

test('names the server at a URL by its host', () => {
  expect(readServers(' https://mcp.shop.com/v1/mcp ')).toEqual({
    servers: { shop: { url: 'https://mcp.shop.com/v1/mcp' } },
  })
})

test('reads a command and keeps quoted words together', () => {
  expect(readServers('npx -y some-mcp@2 --root "/my files"')).toEqual({
    servers: { some: { command: 'npx', args: ['-y', 'some-mcp@2', '--root', '/my files'] } },
  })
})

test('nothing is no problem', () => expect(readServers(' \n')).toBeUndefined())

test.each([
  ['{"mcpServers": {', /not valid JSON/],
  ['{"mcpServers": {}}', /empty/],
  ['{"mcpServers": {"a": {"cmd": "x"}}}', /server "a" needs/],
  ['{"tools": {}}', /no mcpServers/],
  ['[]', /Paste JSON/],
  ['first\nsecond', /Paste JSON/],
])('says what is wrong with %s', (text, problem) => {
  expect(readServers(text)).toEqual({ problem: expect.stringMatching(problem) })
})

test('rejects names that the configuration rejects, and names that two servers have', () => {
  expect(nameProblem('files', ['files', 'other'])).toBeUndefined()
  expect(nameProblem('my files', ['my files'])).toMatch(/Use 1 to 64/)
  expect(nameProblem('', [''])).toMatch(/Use 1 to 64/)
  expect(nameProblem('files', ['files', 'files'])).toMatch(/Two servers/)
})

test('renames servers and keeps their order', () => {
  const servers = { a: FILES, b: { url: 'https://b.test' } }
  expect(Object.keys(renamed(servers, { a: 'z' }))).toEqual(['z', 'b'])
})

test('sums up a server in one line', () => {
  expect(summaryOf(FILES)).toBe('npx -y @modelcontextprotocol/server-filesystem /tmp')
  expect(summaryOf({ url: 'https://b.test' })).toBe('https://b.test')
})
