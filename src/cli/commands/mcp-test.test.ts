import { afterAll, describe, expect, test } from 'vitest'
import { BROKEN, EVERYTHING, mcpConfig } from '../fixtures/mcp-config.ts'
import { emptyFolder, toolyard } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)

describe('mcp test', () => {
  test('says step by step what works', async () => {
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

  test('says why it does not work, what the server said, and what to check', async () => {
    const file = await mcpConfig('broken', { broken: BROKEN })
    const { code, out } = await toolyard(['mcp', 'test', 'broken', '--config', file])
    expect(code).toBe(1)
    expect(out).toMatch(
      /✗ connection {5}it could not be made\n {2}Reason: .+\n {2}MCP Server stderr: no broker\n {2}Check: the broker\n$/,
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
