import { spokenName } from './spoken-name.ts'
import { valuePayload } from './value-payload.ts'
import { type DeviceKind, type ValueTopic, valueTopic } from './value-topic.ts'

/** One thing that can be switched: an endpoint of a node. */
export interface Device {
  readonly name: string
  readonly location: string
  readonly kind: DeviceKind
  /** The topic of its values, the prefix and the property taken off. */
  readonly base: string
  readonly node: string
  /** What it reported last: true or false, or 0 to 99; undefined until it has. */
  value: boolean | number | undefined
}

/** What is told of a device. */
export interface DeviceState {
  readonly name: string
  readonly location?: string
  readonly kind: DeviceKind
  readonly state: 'on' | 'off' | 'unknown'
  /** Of a dimmer, 0 to 100. */
  readonly level?: number
  /** What Z-Wave JS UI says of the node, where it does. */
  readonly available?: boolean
}

/** More are not kept: a broker is not trusted to have only sensible topics. */
const MOST_DEVICES = 1_000
const LONGEST_NAMES = 40

/** The devices of a house, learnt from what Z-Wave JS UI publishes. */
export class DeviceBook {
  readonly #devices = new Map<string, Device>()
  readonly #available = new Map<string, boolean>()

  /** Takes in one message, its topic without the prefix; gives the device that has reported its value. */
  take(topic: string, payload: Uint8Array): Device | undefined {
    if (topic.endsWith('/status')) this.#takeStatus(topic.slice(0, -'/status'.length), payload)
    const place = valueTopic(topic)
    if (place === undefined) return undefined
    // Z-Wave JS UI clears what it has retained of a node that was removed.
    if (payload.byteLength === 0) return void this.#devices.delete(place.base)
    const read = valuePayload(payload)
    if (read === undefined) return undefined
    const device = this.#devices.get(place.base) ?? this.#add(place, read.nodeName, read.nodeLocation)
    if (device === undefined || place.property !== 'currentValue') return undefined
    if (typeof read.value !== 'boolean' && typeof read.value !== 'number') return undefined
    device.value = read.value
    return device
  }

  get size(): number {
    return this.#devices.size
  }

  /** All of them, by location and name. */
  list(): DeviceState[] {
    const spoken = (device: Device) => `${device.location} ${device.name}`
    return [...this.#devices.values()].sort((a, b) => spoken(a).localeCompare(spoken(b))).map((one) => this.state(one))
  }

  state({ name, location, kind, value, node }: Device): DeviceState {
    const available = this.#available.get(node)
    const level =
      kind === 'dimmer' && value !== undefined ? Math.min(100, Number(value) >= 99 ? 100 : Number(value)) : undefined
    return {
      name,
      ...(location !== '' && { location }),
      kind,
      state: value === undefined ? 'unknown' : value === true || Number(value) > 0 ? 'on' : 'off',
      ...(level !== undefined && { level }),
      ...(available !== undefined && { available }),
    }
  }

  /** The device that is meant, or a sentence that says why it is not clear. */
  find(said: string): Device | string {
    const wanted = spokenName(said)
    const devices = [...this.#devices.values()]
    const exact = devices.filter((one) => spokenName(`${one.location} ${one.name}`) === wanted)
    const byName = exact.length > 0 ? exact : devices.filter(({ name }) => spokenName(name) === wanted)
    const [found, another] = byName
    if (found !== undefined && another === undefined) return found
    const quoted = JSON.stringify(said.length > 100 ? `${said.slice(0, 100)}…` : said)
    if (found === undefined) return `There is no device ${quoted}. ${this.#known(devices)}`
    return `More than one device is called ${quoted}. Say which: ${names(byName)}.`
  }

  #known(devices: readonly Device[]): string {
    return devices.length === 0 ? 'No device has reported itself yet.' : `The devices are: ${names(devices)}.`
  }

  #add(place: ValueTopic, nodeName?: string, nodeLocation?: string): Device | undefined {
    if (this.#devices.size >= MOST_DEVICES) return undefined
    const path = place.node.split('/')
    const name = words(nodeName ?? path.at(-1) ?? place.node)
    const device: Device = {
      name: place.endpoint === 0 ? name : `${name} endpoint ${place.endpoint}`,
      location: words(nodeLocation ?? path.slice(0, -1).join(' ')),
      kind: place.kind,
      base: place.base,
      node: place.node,
      value: undefined,
    }
    this.#devices.set(place.base, device)
    return device
  }

  #takeStatus(node: string, payload: Uint8Array): void {
    const value = valuePayload(payload)?.value
    if (typeof value !== 'boolean' || (this.#available.size >= MOST_DEVICES && !this.#available.has(node))) return
    this.#available.set(node, value)
  }
}

/** Topics have `_` where names have blanks. */
const words = (text: string): string => text.replaceAll('_', ' ').trim()

function names(devices: readonly Device[]): string {
  const all = devices.map(({ name, location }) => (location === '' ? name : `${location} ${name}`)).sort()
  const rest = all.length - LONGEST_NAMES
  return rest > 0 ? `${all.slice(0, LONGEST_NAMES).join(', ')} and ${rest} more` : all.join(', ')
}
