import { connectAsync } from 'mqtt'
import type { DeviceKind } from '../zwave-mcp-server/value-topic.ts'

/** A device that is not there. */
export interface SimulatedDevice {
  readonly name: string
  readonly location?: string
  readonly kind: DeviceKind
  /** It hears, and never answers: like one whose battery is empty. */
  readonly silent?: boolean
}

export interface SimulationOptions {
  readonly url: string
  readonly devices?: readonly SimulatedDevice[]
  /** `valueid` has numbers in its topics where `named` has names. */
  readonly layout?: 'named' | 'valueid'
  readonly prefix?: string
  /** How long a device takes to report its new value. */
  readonly delayMs?: number
}

/** The house of the example. */
export const HOUSE: readonly SimulatedDevice[] = [
  { name: 'switch_one', kind: 'switch' },
  { name: 'switch_two', kind: 'switch' },
  { name: 'lamp', location: 'kitchen', kind: 'dimmer' },
  { name: 'ceiling_light', location: 'living_room', kind: 'dimmer' },
]

const LAST_LEVEL = 255
const FULL = 99

/** Devices that answer on MQTT as those behind Z-Wave JS UI do: retained values, `/set` taken, reports after a while. */
export async function simulateDevices(options: SimulationOptions) {
  const { url, devices = HOUSE, layout = 'named', prefix = 'zwave', delayMs = 150 } = options
  const client = await connectAsync(url, { reconnectPeriod: 500, queueQoSZero: false })
  const house = new Map(devices.map((device) => [baseOf(device, layout, prefix), device]))
  const values = new Map<string, boolean | number>()
  const levels = new Map<string, number>()
  const commands: { readonly device: string; readonly value: unknown }[] = []
  const timers = new Set<NodeJS.Timeout>()

  const report = (base: string, property: string): void => {
    const message = JSON.stringify({ time: Date.now(), value: values.get(base) })
    client.publish(`${base}/${property}`, message, { retain: true })
  }
  const change = (base: string, kind: DeviceKind, wanted: unknown): void => {
    if (kind === 'switch') values.set(base, wanted === true)
    else {
      const level = wanted === LAST_LEVEL ? (levels.get(base) ?? FULL) : Math.min(FULL, Number(wanted) || 0)
      if (level > 0) levels.set(base, level)
      values.set(base, level)
    }
    report(base, 'currentValue')
  }
  client.on('message', (topic, payload) => {
    const base = topic.replace(/\/targetValue\/set$/, '')
    const device = house.get(base)
    if (device === undefined || base === topic) return
    const value = sentValue(payload)
    commands.push({ device: device.name, value })
    if (device.silent) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      change(base, device.kind, value)
    }, delayMs)
    timers.add(timer)
  })
  await client.subscribeAsync(`${prefix}/#`)
  for (const [base, { kind }] of house) {
    values.set(base, kind === 'switch' ? false : 0)
    await client.publishAsync(`${base}/currentValue`, JSON.stringify({ time: Date.now(), value: values.get(base) }), {
      qos: 1,
      retain: true,
    })
  }
  // A broker that was restarted has forgotten what it retained.
  client.on('connect', () => {
    for (const base of house.keys()) report(base, 'currentValue')
  })

  return {
    /** What the devices were told, in order. */
    commands,
    value: (name: string) => {
      for (const [base, device] of house) if (device.name === name) return values.get(base)
      return undefined
    },
    close: async () => {
      for (const timer of timers) clearTimeout(timer)
      await client.endAsync(true)
    },
  }
}

function baseOf({ name, location, kind }: SimulatedDevice, layout: 'named' | 'valueid', prefix: string): string {
  const path = location === undefined ? `${prefix}/${name}` : `${prefix}/${location}/${name}`
  if (layout === 'named') return `${path}/${kind === 'switch' ? 'switch_binary' : 'switch_multilevel'}/endpoint_0`
  return `${path}/${kind === 'switch' ? 37 : 38}/0`
}

function sentValue(payload: Uint8Array): unknown {
  try {
    const read = JSON.parse(new TextDecoder().decode(payload))
    return typeof read === 'object' && read !== null ? read.value : read
  } catch {
    return undefined
  }
}
