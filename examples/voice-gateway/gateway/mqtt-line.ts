import { connect, type IPublishPacket, type MqttClient } from 'mqtt'

export type MqttListener = (topic: string, payload: Uint8Array, packet: IPublishPacket) => void

const CONNECT_MS = 5_000
const RECONNECT_MS = 1_000

/** The line to the broker: made anew by itself, and never in anybody's way. What is published while it is away is lost. */
export class MqttLine {
  readonly #client: MqttClient
  readonly #listeners: {
    readonly filter: string
    readonly takes: (topic: string) => boolean
    readonly listener: MqttListener
  }[] = []
  #lastError = 'no answer'
  #started = false

  /** `gone` is where the broker says that we have disappeared. */
  constructor(url: string, gone: { readonly topic: string; readonly payload: string }) {
    this.#client = connect(url, {
      connectTimeout: CONNECT_MS,
      reconnectPeriod: RECONNECT_MS,
      queueQoSZero: false,
      resubscribe: false,
      manualConnect: true,
      will: { topic: gone.topic, payload: Buffer.from(gone.payload), qos: 0, retain: true },
    })
    this.#client.on('error', (error) => {
      this.#lastError = (error as { code?: string }).code ?? error.message
    })
    this.#client.on('connect', () => this.#subscribe())
    this.#client.on('message', (topic, payload, packet) => {
      for (const { takes, listener } of this.#listeners) if (takes(topic)) listener(topic, payload, packet)
    })
  }

  get connected(): boolean {
    return this.#client.connected
  }

  /** Connects; gives the reason where that has not worked so far. It is tried again and again either way. Never rejects. */
  start(): Promise<string | undefined> {
    return new Promise((resolve) => {
      const over = (reason?: string): void => {
        clearTimeout(timer)
        resolve(reason)
      }
      const timer = setTimeout(() => over(this.#lastError), CONNECT_MS)
      this.#client.once('connect', () => over())
      this.#client.once('error', () => over(this.#lastError))
      this.#started = true
      this.#client.connect()
    })
  }

  /** Hears a topic, or everything below it (`zwave/#`). With quality 0: what was said while we were away is not done later. */
  listen(filter: string, listener: MqttListener): void {
    const below = filter.endsWith('/#') ? filter.slice(0, -1) : undefined
    const takes = (topic: string): boolean => (below === undefined ? topic === filter : topic.startsWith(below))
    this.#listeners.push({ filter, takes, listener })
  }

  /** Told of every connection that is made. */
  onConnect(listener: () => void): void {
    this.#client.on('connect', listener)
  }

  onClose(listener: () => void): void {
    this.#client.on('close', listener)
  }

  publish(topic: string, payload: string | Uint8Array, retain = false): void {
    if (!this.connected) return
    this.#client.publish(topic, typeof payload === 'string' ? payload : Buffer.from(payload), { qos: 0, retain })
  }

  async close(): Promise<void> {
    // Else a connection that fails while it is ended is made again, for ever.
    this.#client.options.reconnectPeriod = 0
    if (this.#started) await this.#client.endAsync(!this.connected)
  }

  #subscribe(): void {
    const filters = this.#listeners.map(({ filter }) => filter)
    // A line that breaks in this moment is made anew, and comes here again.
    this.#client.subscribe(filters, { qos: 0 }, () => {})
  }
}
