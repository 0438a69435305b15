import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Config } from '../config/config.ts'
import { silentLog } from '../core/log.ts'
import { hostileServer } from '../mcp/fixtures/connect.ts'
import { isRunning } from '../mcp/fixtures/running.ts'
import { ManualClock } from '../testing/stand-ins.ts'
import { Installation, type InstallationOptions } from './installation.ts'

const server = (...flags: string[]) => ({ command: process.execPath, args: [hostileServer, ...flags] })

/** An installation whose file can be written, with its MCP servers connected. */
async function open(config: Config, more: Partial<InstallationOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolyard.config.json')
  const write = (next: Config) => writeFile(file, JSON.stringify({ tools: { enabled: true }, ...next }))
  await write(config)
  const installation = await Installation.open({ file, log: silentLog, env: { TOOLYARD_DATA: folder }, ...more })
  onTestFinished(() => installation.close())
  const has = (name: string) => installation.manager.getRegistry().get(name) !== undefined
  const pid = async (tool = 'pid') => {
    await vi.waitFor(() => expect(has(tool)).toBe(true), { timeout: 20_000 })
    const result = await installation.manager.getExecutor().execute(tool, {})
    return Number(result.success && result.result)
  }
  const use = async (next: Config) => {
    await write(next)
    await installation.reload()
  }
  return { installation, use, has, pid }
}

test('an MCP server that a reload does not change keeps its process and its tools at every moment', async () => {
  const { installation, use, has, pid } = await open({ mcpServers: { one: server() } })
  const before = await pid()
  let missed = 0
  let watched = 0
  let isWatching = true
  const watch = (): void => {
    if (!isWatching) return
    watched++
    if (!has('pid')) missed++
    setImmediate(watch)
  }
  watch()
  await use({ mcpServers: { one: server() }, limits: { job_timeout_ms: 60_000 } })
  expect(has('pid')).toBe(true)
  expect(await pid()).toBe(before)
  isWatching = false
  expect(missed).toBe(0)
  expect(watched).toBeGreaterThan(1)
  expect(installation.manager.getMcpStatus()).toMatchObject([{ name: 'one', state: 'connected' }])
})

test('a changed MCP server reconnects, a removed one closes, and the last configuration closes those that stay', async () => {
  const clock = new ManualClock()
  const kept = server()
  const { installation, use, has, pid } = await open({ mcpServers: { kept, other: server() } }, { clock })
  // Alone, the server that connects first has the tool's own name.
  const changes = await pid('other__pid')
  const stays = await pid('pid')
  await use({ mcpServers: { kept, other: server('bom') } })
  const next = await pid('other__pid')
  expect(next).not.toBe(changes)
  // A run may still use the former connection.
  expect(isRunning(changes)).toBe(true)
  clock.advance(60_000)
  await vi.waitFor(() => expect(isRunning(changes)).toBe(false), { timeout: 20_000 })
  expect(await pid('pid')).toBe(stays)
  await use({ mcpServers: { kept } })
  expect(has('other__pid')).toBe(false)
  clock.advance(60_000)
  await vi.waitFor(() => expect(isRunning(next)).toBe(false), { timeout: 20_000 })
  expect(await pid('pid')).toBe(stays)
  // Without tools, no server is used.
  await use({ tools: { enabled: false }, mcpServers: { kept } })
  clock.advance(60_000)
  await vi.waitFor(() => expect(isRunning(stays)).toBe(false), { timeout: 20_000 })
  expect(installation.manager.getMcpStatus()).toMatchObject([{ name: 'kept', state: 'idle' }])
})

test('a reload that fails leaves the MCP servers alone', async () => {
  const implementation = { type: 'mock', mock_response: 1 }
  const same = { name: 'same', description: 'A tool.', parameters: { type: 'object' }, implementation }
  const { use, pid } = await open({ mcpServers: { one: server() } }, { tools: [same] })
  const before = await pid()
  const next = { mcpServers: { one: server() }, tools: { enabled: true, registry: [same] } }
  await expect(use(next)).rejects.toThrow("There are two tools 'same'")
  expect(await pid()).toBe(before)
})
