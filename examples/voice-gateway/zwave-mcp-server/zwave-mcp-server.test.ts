import { fileURLToPath } from 'node:url'
import { silentLog, ToolManager, type ToolResult } from 'toolyard'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type EmbeddedBroker, startBroker } from '../simulation/embedded-broker.ts'
import { type SimulatedDevice, simulateDevices } from '../simulation/simulated-devices.ts'

vi.setConfig({ testTimeout: 60_000 })

const SERVER = fileURLToPath(new URL('./main.ts', import.meta.url))
const DEVICES: readonly SimulatedDevice[] = [
  { name: 'Switch_One', kind: 'switch' },
  { name: 'lamp', location: 'kitchen', kind: 'dimmer' },
  { name: 'lamp', location: 'first_floor/bedroom', kind: 'dimmer' },
  { name: 'cellar_light', kind: 'switch', silent: true },
]

async function broker(port = 0): Promise<EmbeddedBroker> {
  const started = await startBroker(port)
  onTestFinished(() => started.close())
  return started
}

/** The server behind Toolyard, as a user has it. */
async function household(layout: 'named' | 'valueid' = 'named') {
  const { url, port, close } = await broker()
  const devices = await simulateDevices({ url, devices: DEVICES, layout, delayMs: 20 })
  onTestFinished(() => devices.close())
  const env = { MQTT_URL: url, ZWAVE_CONFIRM_MS: '1000' }
  const zwave = { command: process.execPath, args: [SERVER], env }
  const manager = new ToolManager({ tools: { enabled: true }, mcpServers: { zwave } }, { log: silentLog })
  onTestFinished(() => manager.close())
  await manager.loadTools()
  await manager.getMcpServers().start()
  const call = (tool: string, params: object = {}): Promise<ToolResult> => manager.getExecutor().execute(tool, params)
  return { call, devices, port, close, manager, url }
}

describe('zwave-mcp-server', () => {
  test.each(['named', 'valueid'] as const)(
    'switches a device, in the layout %s, and waits for its word',
    async (layout) => {
      const { call, devices } = await household(layout)
      const result = await call('control_zwave_device', { deviceName: 'switch one', action: 'on' })
      expect(result).toMatchObject({ success: true, result: 'Switch One is on.' })
      expect(devices.value('Switch_One')).toBe(true)
      expect(await call('get_device_state', { deviceName: 'Switch 1' })).toMatchObject({ result: 'Switch One is on.' })
    },
  )

  test('models may say device_name and command', async () => {
    const { call, devices } = await household()
    expect(await call('control_zwave_device', { device_name: 'the switch one', command: 'on' })).toMatchObject({
      success: true,
    })
    expect(devices.commands).toEqual([{ device: 'Switch_One', value: true }])
  })

  test('a dimmer takes a level, and comes back to it', async () => {
    const { call } = await household()
    const lamp = { deviceName: 'kitchen lamp' }
    const dim = await call('control_zwave_device', { ...lamp, action: 'level', level: 30 })
    expect(dim).toMatchObject({ result: 'kitchen lamp is on at 30 percent.' })
    expect(await call('control_zwave_device', { ...lamp, action: 'off' })).toMatchObject({
      result: 'kitchen lamp is off.',
    })
    expect(await call('control_zwave_device', { ...lamp, action: 'on' })).toMatchObject({
      result: 'kitchen lamp is on at 30 percent.',
    })
    const full = await call('control_zwave_device', { ...lamp, action: 'on', level: 100 })
    expect(full).toMatchObject({ result: 'kitchen lamp is on at 100 percent.' })
  })

  test('lists the devices', async () => {
    const { call } = await household()
    const text = 'cellar light is off, Switch One is off, first floor bedroom lamp is off, kitchen lamp is off.'
    expect(await call('list_devices')).toMatchObject({ success: true, result: text })
  })

  test('only switching is a write', async () => {
    const { manager } = await household()
    const effect = (tool: string) => manager.getRegistry().get(tool)
    expect(effect('control_zwave_device')).toMatchObject({ effect: 'write' })
    expect(effect('list_devices')).toMatchObject({ effect: 'read' })
    expect(effect('get_device_state')).toMatchObject({ effect: 'read' })
  })

  test('what cannot be done is refused with a sentence, and nothing is sent', async () => {
    const { call, devices } = await household()
    const refused: readonly (readonly [object, string])[] = [
      [{ deviceName: 'sauna', action: 'on' }, 'There is no device "sauna". The devices are: Switch One, cellar light'],
      [{ deviceName: 'lamp', action: 'on' }, 'Say which: first floor bedroom lamp, kitchen lamp.'],
      [{ deviceName: 'kitchen lamp', action: 'level' }, 'needs the parameter level'],
      [{ deviceName: 'switch one', action: 'level', level: 3 }, 'Switch One is a switch, not a dimmer'],
      [{ deviceName: 'switch one', action: 'explode' }, 'action must be one of: on, off, level'],
      [{ deviceName: 'switch one', action: 'on', colour: 'red' }, 'colour'],
    ]
    for (const [params, sentence] of refused) {
      const error = expect.stringContaining(sentence)
      expect(await call('control_zwave_device', params)).toMatchObject({ success: false, error })
    }
    expect(devices.commands).toEqual([])
  })

  test('a device that never answers: told once, outcome unknown', async () => {
    const { call, devices } = await household()
    const result = await call('control_zwave_device', { deviceName: 'cellar light', action: 'on' })
    expect(result).toMatchObject({
      success: false,
      error: expect.stringContaining('cellar light did not confirm within 1 s: the outcome is unknown'),
    })
    expect(devices.commands).toHaveLength(1)
  })

  test('the broker goes away: said so, not sent later; it comes back: works again', async () => {
    const { call, devices, port, close } = await household()
    await close()
    const away = await vi.waitFor(async () => {
      const result = await call('control_zwave_device', { deviceName: 'switch one', action: 'on' })
      expect(result).toMatchObject({ error: expect.stringContaining('The MQTT broker is away') })
      return result
    })
    expect(away).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
    expect(await call('get_device_state', { deviceName: 'switch one' })).toMatchObject({
      result: expect.stringContaining('The MQTT broker is away'),
    })
    await broker(port)
    await vi.waitFor(
      async () => {
        const result = await call('control_zwave_device', { deviceName: 'kitchen lamp', action: 'on' })
        expect(result).toMatchObject({ success: true })
      },
      { timeout: 20_000, interval: 300 },
    )
    expect(devices.commands.filter(({ device }) => device === 'Switch_One')).toEqual([])
  })
})
