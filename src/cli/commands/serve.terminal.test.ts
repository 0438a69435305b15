import { expect, test } from 'vitest'
import { createLog } from '../../app/tools/create-log.ts'
import { openTestServer } from '../../server/fixtures/open-server.ts'
import { MEMORY } from '../fixtures/mcp-config.ts'
import { captureTerminal, mock } from '../fixtures/toolyard.ts'
import { announceTools, describeServer, readableLog } from './serve.ts'

const TIME = /^\d\d:\d\d:\d\d /gm

test('a terminal gets short lines instead of JSON', () => {
  const { terminal, written } = captureTerminal({ watched: true })
  const log = createLog('info', { stream: readableLog(terminal) })
  log.info({ server: 'files', attempt: 1 }, 'MCP connection succeeded')
  log.warn({ err: new Error('gone\u001b[2J') }, 'Something failed')
  log.error({ text: 'long '.repeat(100) }, 'Broken')
  const call = '"tool":"get_weather","tenant":"acme","params":{"q":"secret"},"success":true,"execution_time_ms":12'
  log.writeJson?.('info', call, 'Tool call succeeded')
  const failed =
    '"tool":"add","tenant":"local","success":false,"error":"a is missing","error_code":"INVALID_PARAMETERS"'
  log.writeJson?.('warn', `${failed},"execution_time_ms":0`, 'Tool call failed')
  const lines = written.err.trimEnd().split('\n')
  expect(written.err.match(TIME)).toHaveLength(5)
  expect(lines.map((line) => line.replace(TIME, ''))).toEqual([
    'MCP connection succeeded server=files attempt=1',
    'warn Something failed err=gone\\u001b[2J',
    expect.stringMatching(/^error Broken text=long .*…$/),
    'get_weather (acme) 12 ms',
    'warn add 0 ms: INVALID_PARAMETERS, a is missing',
  ])
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
})

test('describes the server, and the tools that join later', async () => {
  const { terminal, written } = captureTerminal({ watched: true })
  const registry = [mock('a', 1), mock('b', 2)]
  const server = await openTestServer({ tools: { enabled: true, registry }, mcpServers: { memory: MEMORY } })
  const { installation, url } = server
  try {
    const stop = announceTools(terminal, installation)
    await describeServer(terminal, { url, installation, file: '/x/toolyard.config.json', insecureLocal: false })
    expect(written.out).toContain(`web UI   ${url}/`)
    expect(written.out).toContain(`docs     ${url}/guide`)
    expect(written.out).toMatch(/tools {4}2 of the configuration\n +(MCP server memory: connecting|\d+ of MCP server)/)
    expect(written.out).toContain(`storage  SQLite in ${server.folder}`)
    expect(written.out).toContain('keys     none yet')
    expect(written.out).toContain('config   /x/toolyard.config.json')
    expect(written.out).toMatch(/models {3}.*mini:v1/)
    const all = () => written.out + written.err
    await expect.poll(all, { timeout: 60_000 }).toMatch(/^(Tools:| {11}) *9 of MCP server memory$/m)
    stop()
    await server.key('acme')
    await describeServer(terminal, { url, installation, file: 'x', insecureLocal: false })
    expect(written.out).toContain('keys     every request needs one')
  } finally {
    await server.close()
  }
})
