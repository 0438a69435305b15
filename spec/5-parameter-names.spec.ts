import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { household, openMcpServers } from './fixtures/mcp-servers.ts'

const echo = {
  name: 'local_echo',
  description: 'Says it again',
  parameters: { type: 'object' },
  implementation: { type: 'builtin', handler: 'echo' },
}

describe('Parameter names', () => {
  let home: Awaited<ReturnType<typeof openMcpServers>>
  beforeAll(async () => {
    const parameter_names = { set_scene: { place: 'room_name' } }
    home = await openMcpServers({ home: { ...household(), parameter_names } }, { registry: [echo] })
    await home.connected()
  })
  afterAll(() => home.manager.close())

  /** What the tool receives. */
  const sent = async (tool: string, params: object) => {
    const result = await home.execute(tool, params)
    if (!result.success) return result
    return typeof result.result === 'string' ? JSON.parse(result.result) : result.result
  }

  test('[5.2-1] applies static mappings first', async () => {
    const received = await sent('control_zwave_device', { device_name: 'lamp', command: 'on' })
    expect(received).toEqual({ deviceName: 'lamp', action: 'on' })
  })

  test('[18.1-12] S14 a server may have a mapping of its own', async () => {
    const received = await sent('set_scene', { place: 'kitchen', light_level: 3 })
    expect(received).toEqual({ room_name: 'kitchen', lightLevel: 3 })
  })

  test('[5.2-2] passes names that the schema declares', async () => {
    const received = await sent('set_scene', { room_name: 'kitchen', lightLevel: 3 })
    expect(received).toEqual({ room_name: 'kitchen', lightLevel: 3 })
  })

  test('[5.2-3] turns snake_case into camelCase', async () => {
    const received = await sent('set_scene', { room_name: 'kitchen', light_level: 3 })
    expect(received).toEqual({ room_name: 'kitchen', lightLevel: 3 })
  })

  test('[5.2-4] passes names without an underscore', async () => {
    const received = await sent('control_zwave_device', { deviceName: 'lamp', action: 'on' })
    expect(received).toEqual({ deviceName: 'lamp', action: 'on' })
  })

  test('[5.2-5] changes top-level names only', async () => {
    const inner = { fade_time: 3 }
    const received = await sent('set_scene', { room_name: 'x', light_level: 3, more_options: inner })
    expect(received).toEqual({ room_name: 'x', lightLevel: 3, moreOptions: inner })
  })

  test('[5.2-6] changes names for MCP tools only', async () => {
    const received = await sent('local_echo', { device_name: 'lamp' })
    expect(received).toEqual({ echo: { device_name: 'lamp' } })
  })

  test('[5.2-7] logs a change of names', async () => {
    await sent('control_zwave_device', { device_name: 'lamp', action: 'on' })
    expect(home.said()).toContain('{device_name: …, action: …} → {deviceName: …, action: …}')
  })

  test('[5.2-8] documents the decision next to the code', async () => {
    const code = await readFile(new URL('../src/kinds/parameter-names.ts', import.meta.url), 'utf8')
    expect(code).toMatch(/\/\*\*(.|\n)*snake_case(.|\n)*\*\/\nconst STATIC_NAMES/)
  })
})
