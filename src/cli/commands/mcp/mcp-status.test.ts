import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BROKEN, EVERYTHING, MEMORY, mcpConfig } from '../../fixtures/mcp-config.ts'
import { emptyFolder, folder, toolyard } from '../../fixtures/toolyard.ts'

afterAll(emptyFolder)

const LOST = { command: 'x', env: { T: '${NOWHERE}' } }
const OFF = { command: 'x', disabled: true }
type Run = Awaited<ReturnType<typeof toolyard>>
const some = () => mcpConfig('some', { everything: EVERYTHING, broken: BROKEN, lost: LOST, off: OFF })

describe('with a server that cannot be reached', () => {
  let [list, json, tools]: Run[] = []
  // Each waits for the server to be given up: together they wait once.
  beforeAll(async () => {
    const file = await some()
    const commands = [['mcp', 'list'], ['mcp', 'list', '--json'], ['tools']]
    ;[list, json, tools] = await Promise.all(commands.map((args) => toolyard([...args, '--config', file])))
  })

  test('mcp list shows every server, its contents, and why one is missing', () => {
    const { code, out, err } = list as Run
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^everything {2}connected, protocol \d{4}-\d\d-\d\d$/m)
    expect(out).toMatch(/^ {2}tool {6}everything__echo \(echo\)$/m)
    expect(out).toMatch(/^ {2}tool {6}get-sum$/m)
    expect(out).toMatch(/^ {2}resource {2}demo:\/\/resource\/static\/document\/architecture.md$/m)
    expect(out).toMatch(/^ {2}resource {2}demo:\/\/resource\/dynamic\/text\/\{resourceId\}$/m)
    expect(out).toMatch(/^ {2}prompt {4}simple-prompt$/m)
    expect(out).toMatch(/^broken {2}not reachable: .+\n {2}MCP Server stderr: no broker\n {2}Check: the broker$/m)
    expect(out).toMatch(/^lost {2}cannot be used: .*The environment variable NOWHERE is not set/m)
    expect(out).toMatch(/^off {2}disabled$/m)
  })

  test('mcp list --json gives one document', () => {
    const { code, out } = json as Run
    expect(code).toBe(0)
    const { servers } = JSON.parse(out)
    expect(servers).toMatchObject([
      {
        name: 'everything',
        state: 'connected',
        tools: expect.arrayContaining([{ name: 'everything__echo', tool: 'echo' }]),
        prompts: expect.arrayContaining([expect.objectContaining({ name: 'simple-prompt' })]),
      },
      { name: 'broken', state: 'not_reachable', stderr: 'no broker', check: 'the broker' },
      { name: 'lost', state: 'left_out' },
      { name: 'off', state: 'disabled' },
    ])
  })

  test('tools lists the tools of servers, and says which server is missing', () => {
    const { code, out, err } = tools as Run
    expect(code).toBe(0)
    expect(out).toMatch(/^get-sum +mcp +read +Returns the sum of two numbers/m)
    expect(err).toMatch(/^MCP server 'broken' is not available: .+\. Run "toolyard mcp test broken" for details\.$/m)
    expect(err).toMatch(/^MCP server 'lost' is not available: .*The environment variable NOWHERE is not set/m)
  })
})

describe('with servers that work', () => {
  test('shows warnings, and reports that there are no servers', async () => {
    const odd = await mcpConfig('odd', { memory: { ...MEMORY, transport: 'stdio', alwaysAllow: [] } })
    const { err } = await toolyard(['mcp', 'list', '--config', odd])
    expect(err).toBe("Warning: memory: mcpServers.memory: unknown key 'transport' is ignored\n")
    const none = await mcpConfig('none', {})
    expect(await toolyard(['mcp', 'list', '--config', none])).toEqual({
      code: 0,
      out: '',
      err: 'The configuration has no MCP servers: add them to mcpServers.\n',
    })
  })

  test('exec finds the tools of servers, and does not wait for more than it needs', async () => {
    const file = await mcpConfig('exec', { memory: MEMORY, never: { command: process.execPath, args: ['-'] } })
    const { code, out } = await toolyard(['exec', 'read_graph', '--config', file])
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('"entities"') })
  })

  test('no server is started for a tool of the configuration, for models or for completion', async () => {
    const marks = ['-e', 'require("node:fs").writeFileSync(process.argv[1], "")', join(folder, 'started')]
    const file = await mcpConfig('local', { marks: { command: process.execPath, args: marks } })
    expect(await toolyard(['exec', 'echo', '--config', file])).toMatchObject({ code: 0, out: 'local\n' })
    expect(await toolyard(['models', '--config', file])).toMatchObject({ code: 0 })
    const completed = await toolyard(['completion', '--words', '--config', file, 'mcp', 'test', 'm'])
    expect(completed).toMatchObject({ code: 0, out: 'marks\n' })
    expect(existsSync(join(folder, 'started'))).toBe(false)
  })
})

describe('mcp test', () => {
  test('reports each step', async () => {
    const file = await mcpConfig('works', { 'Every Thing': EVERYTHING, broken: BROKEN })
    for (const name of ['Every Thing', 'Every-Thing']) {
      const { code, out, err } = await toolyard(['mcp', 'test', name, '--config', file])
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out.replace(/\d+ ms/, 'N ms').split('\n')).toEqual([
        `✓ configuration  starts "${process.execPath}"`,
        expect.stringMatching(/^✓ connection {5}mcp-servers\/everything .+, protocol \d{4}-\d\d-\d\d, N ms$/),
        expect.stringMatching(/^✓ tools {10}\d+: echo, /),
        expect.stringMatching(/^✓ resources {6}\d+$/),
        expect.stringMatching(/^✓ prompts {8}simple-prompt, /),
        '',
      ])
    }
  })

  test('reports the reason, stderr and what to check', async () => {
    const file = await mcpConfig('broken', { broken: BROKEN })
    const { code, out } = await toolyard(['mcp', 'test', 'broken', '--config', file])
    expect(code).toBe(1)
    expect(out).toMatch(
      /✗ connection {5}failed\n {2}Reason: .+\n {2}MCP Server stderr: no broker\n {2}Check: the broker\n$/,
    )
    const json = await toolyard(['mcp', 'test', 'broken', '--json', '--config', file])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({
      server: 'broken',
      ok: false,
      steps: [{ ok: true }, { step: 'connection', ok: false }],
      stderr: 'no broker',
      check: 'the broker',
    })
  })

  test.each([
    ['evrything', "There is no MCP server 'evrything'. Did you mean everything? Known: everything, off, lost.\n"],
    ['off', 'MCP server \'off\' is disabled: remove "disabled" from mcpServers.off.\n'],
    ['lost', "MCP server 'lost' cannot be used: mcpServers.lost.command: The environment variable NOWHERE is not set"],
  ])('%s is wrong usage', async (name, problem) => {
    const servers = { everything: EVERYTHING, off: { command: 'x', disabled: true }, lost: { command: '${NOWHERE}' } }
    const { code, out, err } = await toolyard(['mcp', 'test', name, '--config', await mcpConfig('usage', servers)])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(problem)
  })
})
