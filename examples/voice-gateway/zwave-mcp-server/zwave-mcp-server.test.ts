import { fileURLToPath } from 'node:url'
import { silentLog, ToolManager, type ToolResult } from 'toolyard'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type EmbeddedBroker, startBroker } from '../simulation/embedded-broker.ts'
import { type SimulatedDevice, simulateDevices } from '../simulation/simulated-devices.ts'

const SERVER = fileURLToPath(new URL('./main.ts', import.meta.url))
const DEVICES: readonly SimulatedDevice[] = [
  { name: 'Switch_One', kind: 'switch' },
  { name: 'lamp', location: 'kitchen', kind: 'dimmer' },
  { name: 'lamp', location: 'first_floor/bedroom', kind: 'dimmer' },
  { name: 'cellar_light', kind: 'switch', silent: true },
]

/** What ends when its test, or the tests that share it, are over. */
type Later = (end: () => Promise<void>) => void

async function broker(port: number, later: Later): Promise<EmbeddedBroker> {
  const started = await startBroker(port)
  later(() => started.close())
  return started
}

/** The server behind Toolyard, as a user has it. */
async function household(layout: 'named' | 'valueid', later: Later = onTestFinished) {
  const { url, port, close } = await broker(0, later)
  const devices = await simulateDevices({ url, devices: DEVICES, layout, delayMs: 20 })
  later(() => devices.close())
  const env = { MQTT_URL: url, ZWAVE_CONFIRM_MS: '1000' }
  const zwave = { command: process.execPath, args: [SERVER], env }
  const manager = new ToolManager({ tools: { enabled: true }, mcpServers: { zwave } }, { log: silentLog })
  later(() => manager.close())
  await manager.loadTools()
  await manager.getMcpServers().start()
  const call = (tool: string, params: object = {}): Promise<ToolResult> => manager.getExecutor().execute(tool, params)
  return { call, devices, port, close, manager }
}

describe('zwave-mcp-server', () => {
  const ends: (() => Promise<void>)[] = []
  let shared: Awaited<ReturnType<typeof household>>
  beforeAll(async () => {
    shared = await household('named', (end) => void ends.unshift(end))
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })

  test('lists the devices', async () => {
    const text = 'cellar light is off, Switch One is off, first floor bedroom lamp is off, kitchen lamp is off.'
    expect(await shared.call('list_devices')).toMatchObject({ success: true, result: text })
  })

  test.each(['named', 'valueid'] as const)(
    'switches a device, in the layout %s, and waits for its word',
    async (layout) => {
      const { call, devices } = layout === 'named' ? shared : await household(layout)
      const result = await call('control_zwave_device', { deviceName: 'switch one', action: 'on' })
      expect(result).toMatchObject({ success: true, result: 'Switch One is on.' })
      expect(devices.value('Switch_One')).toBe(true)
      expect(await call('get_device_state', { deviceName: 'Switch 1' })).toMatchObject({ result: 'Switch One is on.' })
    },
  )

  test('models may say device_name and command', async () => {
    const { call, devices } = shared
    expect(await call('control_zwave_device', { device_name: 'the switch one', command: 'off' })).toMatchObject({
      success: true,
    })
    expect(devices.commands.at(-1)).toEqual({ device: 'Switch_One', value: false })
  })

  test('a dimmer takes a level, and comes back to it', async () => {
    const { call } = shared
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

  test('only switching is a write', async () => {
    const effect = (tool: string) => shared.manager.getRegistry().get(tool)
    expect(effect('control_zwave_device')).toMatchObject({ effect: 'write' })
    expect(effect('list_devices')).toMatchObject({ effect: 'read' })
    expect(effect('get_device_state')).toMatchObject({ effect: 'read' })
  })

  test('what cannot be done is refused with a sentence, and nothing is sent', async () => {
    const { call, devices } = shared
    const before = devices.commands.length
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
    expect(devices.commands).toHaveLength(before)
  })

  test('a device that never answers: told once, outcome unknown', async () => {
    const { call, devices } = shared
    const result = await call('control_zwave_device', { deviceName: 'cellar light', action: 'on' })
    expect(result).toMatchObject({
      success: false,
      error: expect.stringContaining('cellar light did not confirm within 1 s: the outcome is unknown'),
    })
    expect(devices.commands.filter(({ device }) => device === 'cellar_light')).toHaveLength(1)
  })

  test('the broker goes away: said so, not sent later; it comes back: works again', async () => {
    const { call, devices, port, close } = shared
    const before = devices.commands.length
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
    await broker(port, onTestFinished)
    await vi.waitFor(
      async () => {
        const result = await call('control_zwave_device', { deviceName: 'kitchen lamp', action: 'on' })
        expect(result).toMatchObject({ success: true })
      },
      { interval: 300 },
    )
    expect(devices.commands.slice(before).filter(({ device }) => device === 'Switch_One')).toEqual([])
  })
})
