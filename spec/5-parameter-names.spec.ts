import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { household, mcpYard } from './mcp-yard.ts'

async function sent(tool: string, params: object, registry: object[] = []) {
  const around = await mcpYard({ home: household() }, { registry })
  await around.connected()
  const result = await around.execute(tool, params)
  if (!result.success) return { ...around, received: result }
  return { ...around, received: typeof result.result === 'string' ? JSON.parse(result.result) : result.result }
}

describe('Parameter names', () => {
  test('static mappings first, in one table', async () => {
    const { received } = await sent('control_zwave_device', { device_name: 'lamp', command: 'on' })
    expect(received).toEqual({ deviceName: 'lamp', action: 'on' })
  })

  test("then names the server's schema declares pass untouched", async () => {
    const { received } = await sent('set_scene', { room_name: 'kitchen', lightLevel: 3 })
    expect(received).toEqual({ room_name: 'kitchen', lightLevel: 3 })
  })

  test('then snake_case becomes camelCase', async () => {
    const { received } = await sent('set_scene', { room_name: 'kitchen', light_level: 3 })
    expect(received).toEqual({ room_name: 'kitchen', lightLevel: 3 })
  })

  test('names without underscore pass', async () => {
    const { received } = await sent('control_zwave_device', { deviceName: 'lamp', action: 'on' })
    expect(received).toEqual({ deviceName: 'lamp', action: 'on' })
  })

  test('Top-level names only', async () => {
    const inner = { fade_time: 3 }
    const { received } = await sent('set_scene', { room_name: 'x', light_level: 3, more_options: inner })
    expect(received).toEqual({ room_name: 'x', lightLevel: 3, moreOptions: inner })
  })

  test('it applies to tools of our MCP client and of @langchain/mcp-adapters, never to builtin', async () => {
    const echo = {
      name: 'local_echo',
      description: 'Says it again',
      parameters: { type: 'object' },
      implementation: { type: 'builtin', handler: 'echo' },
    }
    const { received } = await sent('local_echo', { device_name: 'lamp' }, [echo])
    expect(received).toEqual({ echo: { device_name: 'lamp' } })
  })

  test('a change is logged as {device_name: …} → {deviceName: …}', async () => {
    const { log } = await sent('control_zwave_device', { device_name: 'lamp', action: 'on' })
    expect(log.lines.map(({ message }) => message)).toContain(
      '{device_name: …, action: …} → {deviceName: …, action: …}',
    )
  })

  test('the decision and its reason are documented where the code is', async () => {
    const code = await readFile(new URL('../src/kinds/parameter-names.ts', import.meta.url), 'utf8')
    expect(code).toMatch(/\/\*\*(.|\n)*snake_case(.|\n)*\*\/\nconst STATIC_NAMES/)
  })
})
