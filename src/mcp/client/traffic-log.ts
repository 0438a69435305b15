import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../core/clock.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import { boundedJson, withoutCredentials } from '../../core/records/redact.ts'

/** A JSON-RPC message, as people see it: bounded and without secrets. */
export interface TrafficMessage {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly direction: 'sent' | 'received'
  /** `noise`: output that isn't a message. */
  readonly kind: 'request' | 'response' | 'error' | 'notification' | 'noise'
  /** Of a response, that of its request. */
  readonly method?: string
  readonly id?: string
  /** How long a response took. */
  readonly ms?: number
  /** JSON text: the parameters, the result, the error or the noise. */
  readonly content: string
}

/** A request over HTTP. Addresses and headers may contain secrets. */
export interface TrafficRequest {
  readonly number: number
  readonly at: number
  readonly method: string
  /** Absent if the connection failed. */
  readonly status?: number
  /** Until the headers of the answer. */
  readonly ms: number
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const MAX_MESSAGES = 200
const MAX_CHARACTERS = 500_000
const MAX_REQUESTS = 200
const MAX_PENDING = 1_000
const MAX_NAME_CHARACTERS = 200

/** The last messages between Toolyard and an MCP server, in bounded memory. */
export class TrafficLog {
  readonly #clock: Clock
  readonly #messages: TrafficMessage[] = []
  readonly #requests: TrafficRequest[] = []
  /** Requests without a response, by direction and id. */
  readonly #pending = new Map<string, { readonly method: string; readonly startedMs: number }>()
  #characters = 0
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get messages(): readonly TrafficMessage[] {
    return this.#messages
  }

  get requests(): readonly TrafficRequest[] {
    return this.#requests
  }

  /** The same transport, whose messages are recorded. */
  tap(transport: Transport): Transport {
    return new Proxy(transport, {
      get: (target, name) => {
        if (name === 'send') {
          return (...[message, options]: Parameters<Transport['send']>) => {
            for (const one of [message].flat()) this.#record('sent', one)
            return target.send(message, options)
          }
        }
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
      set: (target, name, value) => {
        if (name !== 'onmessage' || typeof value !== 'function') return Reflect.set(target, name, value, target)
        const tapped: Transport['onmessage'] = (message, ...rest) => {
          this.#record('received', message)
          value(message, ...rest)
        }
        return Reflect.set(target, name, tapped, target)
      },
    })
  }

  /** The same function, whose requests are recorded. */
  watch(fetch: Fetch): Fetch {
    return async (url, init) => {
      const [at, startedMs] = [this.#clock.wall(), this.#clock.now()]
      let status: number | undefined
      try {
        const response = await fetch(url, init)
        status = response.status
        return response
      } finally {
        const ms = this.#clock.now() - startedMs
        const method = init?.method ?? 'GET'
        this.#requests.push({ number: ++this.#count, at, method, ms, ...(status !== undefined && { status }) })
        if (this.#requests.length > MAX_REQUESTS) this.#requests.shift()
      }
    }
  }

  /** Records output of the server that isn't a message. */
  noise(text: string): void {
    const content = boundedJson(text)
    this.#add({ number: ++this.#count, at: this.#clock.wall(), direction: 'received', kind: 'noise', content })
  }

  /** Must not throw: a message is passed on whatever it contains. */
  #record(direction: TrafficMessage['direction'], message: JSONRPCMessage): void {
    try {
      this.#add({ number: ++this.#count, at: this.#clock.wall(), direction, ...this.#read(direction, message) })
    } catch {
      // Not a message that people could read.
    }
  }

  #read(
    direction: TrafficMessage['direction'],
    message: JSONRPCMessage,
  ): Omit<TrafficMessage, 'number' | 'at' | 'direction'> {
    const id = 'id' in message && message.id !== undefined ? named(foreignText(message.id)) : undefined
    if ('method' in message) {
      const method = named(message.method)
      const content = boundedJson(message.params ?? {})
      if (id === undefined) return { kind: 'notification', method, content }
      if (this.#pending.size < MAX_PENDING) {
        this.#pending.set(`${direction} ${id}`, { method, startedMs: this.#clock.now() })
      }
      return { kind: 'request', method, id, content }
    }
    const key = `${direction === 'sent' ? 'received' : 'sent'} ${id}`
    const asked = this.#pending.get(key)
    this.#pending.delete(key)
    const known = asked && { method: asked.method, ms: this.#clock.now() - asked.startedMs }
    const isError = 'error' in message
    const content = boundedJson(isError ? message.error : message.result)
    return { kind: isError ? 'error' : 'response', ...known, ...(id !== undefined && { id }), content }
  }

  #add(message: TrafficMessage): void {
    this.#messages.push(message)
    this.#characters += message.content.length
    while (this.#messages.length > MAX_MESSAGES || (this.#characters > MAX_CHARACTERS && this.#messages.length > 1)) {
      this.#characters -= this.#messages.shift()?.content.length ?? 0
    }
  }
}

const named = (name: string): string => withoutCredentials(name).slice(0, MAX_NAME_CHARACTERS)
