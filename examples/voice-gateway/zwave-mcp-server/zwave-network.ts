import { connect, type MqttClient } from 'mqtt'
import { type Device, DeviceBook } from './device-book.ts'
import { DeviceError } from './device-error.ts'

export interface ZwaveNetworkOptions {
  readonly url: string
  /** The prefix in the MQTT settings of Z-Wave JS UI. */
  readonly prefix: string
  /** How long a device has to report its new value. */
  readonly confirmMs: number
  readonly log: (line: string) => void
}

/** Switches a device: what is sent, and which report confirms it. */
export interface Command {
  readonly value: boolean | number
  readonly confirms: (value: boolean | number) => boolean
  readonly signal?: AbortSignal
}

const CONNECT_MS = 5_000
const RECONNECT_MS = 1_000
/** What the broker has retained comes at once: this long a silence, or this long altogether, and it is taken for complete. */
const QUIET_MS = 150
const SETTLE_MS = 1_500

interface Waiting {
  readonly device: Device
  readonly report: (value: boolean | number) => void
  readonly lost: () => void
}

/** The devices behind Z-Wave JS UI, over its MQTT broker. */
export class ZwaveNetwork {
  readonly book = new DeviceBook()
  readonly #options: ZwaveNetworkOptions
  readonly #client: MqttClient
  readonly #waiting = new Set<Waiting>()
  #lastMessage = performance.now()
  #open = false

  private constructor(options: ZwaveNetworkOptions, client: MqttClient) {
    this.#options = options
    this.#client = client
    client.on('message', (topic, payload) => this.#take(topic, payload))
    client.on('connect', () => options.log('connected to the MQTT broker'))
    client.on('close', () => {
      for (const one of this.#waiting) one.lost()
    })
    client.on('offline', () => options.log('the MQTT broker is away; trying again'))
    // Those of the first attempt are said where it is made; without a listener the rest would end the process.
    client.on('error', (error) => this.#open && options.log(`MQTT: ${reasonOf(error)}`))
  }

  /** Connects and learns the devices. Rejects with a `DeviceError` where the broker cannot be reached in time. */
  static async open(options: ZwaveNetworkOptions): Promise<ZwaveNetwork> {
    const client = connect(options.url, {
      connectTimeout: CONNECT_MS,
      reconnectPeriod: RECONNECT_MS,
      // What cannot be sent now is not sent later: nobody wants a light to go on an hour after it was asked for.
      queueQoSZero: false,
      manualConnect: true,
    })
    const network = new ZwaveNetwork(options, client)
    try {
      await connected(client)
      await client.subscribeAsync(`${options.prefix}/#`, { qos: 0 })
    } catch (error) {
      await client.endAsync(true).catch(() => {})
      throw new DeviceError(`The MQTT broker cannot be reached: ${reasonOf(error)}`)
    }
    network.#open = true
    await network.#settled()
    return network
  }

  get connected(): boolean {
    return this.#client.connected
  }

  /** Sends a command, once, and waits for the device's own report. Rejects with a `DeviceError`. */
  async command(device: Device, { value, confirms, signal }: Command): Promise<void> {
    const { prefix, confirmMs } = this.#options
    if (!this.connected) throw new DeviceError(AWAY)
    signal?.throwIfAborted()
    const confirmed = this.#confirmation(device, confirms, confirmMs, signal)
    const message = JSON.stringify({ time: Date.now(), value })
    // Quality 0: with 1 the client would send it again after a lost connection, and a write is not repeated.
    this.#client.publish(`${prefix}/${device.base}/targetValue/set`, message, { qos: 0 }, (error) => {
      if (error) for (const one of this.#waiting) if (one.device === device) one.lost()
    })
    await confirmed
  }

  async close(): Promise<void> {
    // Else a connection that fails while it is ended is made again, for ever.
    this.#client.options.reconnectPeriod = 0
    await this.#client.endAsync(true)
  }

  #confirmation(device: Device, confirms: Command['confirms'], ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const over = (end: () => void) => (): void => {
        clearTimeout(timer)
        this.#waiting.delete(waiting)
        signal?.removeEventListener('abort', aborted)
        end()
      }
      const aborted = over(() => reject(signal?.reason))
      const confirm = over(resolve)
      const waiting: Waiting = {
        device,
        report: (value) => {
          if (confirms(value)) confirm()
        },
        lost: over(() => reject(new DeviceError(LOST))),
      }
      const timer = setTimeout(
        over(() => reject(new DeviceError(silent(device, ms, this.book.state(device).available)))),
        ms,
      )
      signal?.addEventListener('abort', aborted)
      this.#waiting.add(waiting)
    })
  }

  #take(topic: string, payload: Uint8Array): void {
    this.#lastMessage = performance.now()
    const { prefix } = this.#options
    if (!topic.startsWith(`${prefix}/`)) return
    const device = this.book.take(topic.slice(prefix.length + 1), payload)
    if (device?.value === undefined) return
    for (const one of this.#waiting) if (one.device.base === device.base) one.report(device.value)
  }

  async #settled(): Promise<void> {
    const end = performance.now() + SETTLE_MS
    this.#lastMessage = performance.now()
    while (performance.now() < end && performance.now() - this.#lastMessage < QUIET_MS) {
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
}

const AWAY = 'The MQTT broker is away, so nothing was sent. It is tried again by itself: ask again in a moment.'
const LOST =
  'The connection to the MQTT broker was lost after the command was sent: the outcome is unknown. ' +
  'Look with get_device_state before trying again.'

function silent({ name }: Device, ms: number, available: boolean | undefined): string {
  const dead = available === false ? ' Z-Wave JS UI reports its node as not available.' : ''
  return (
    `${name} did not confirm within ${ms / 1000} s: the outcome is unknown.${dead} ` +
    'Look with get_device_state before trying again.'
  )
}

function connected(client: MqttClient): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${CONNECT_MS / 1000} s`)), CONNECT_MS)
    client.once('connect', () => {
      clearTimeout(timer)
      resolve()
    })
    client.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    client.connect()
  })
}

/** Without the address, which may hold a password. */
function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : typeof message === 'string' && message !== '' ? message : 'no connection'
}
