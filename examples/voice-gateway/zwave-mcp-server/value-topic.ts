/** What a device is, by the command class that switches it: Binary Switch (37) or Multilevel Switch (38). */
export type DeviceKind = 'switch' | 'dimmer'

/** A value in the topic tree of Z-Wave JS UI, the prefix taken off. */
export interface ValueTopic {
  /** The path of the node: its name (or id), with its location before it. */
  readonly node: string
  readonly kind: DeviceKind
  readonly endpoint: number
  readonly property: 'currentValue' | 'targetValue'
  /** Everything before the property; `<base>/targetValue/set` is where it is switched. */
  readonly base: string
}

/**
 * The two layouts that Z-Wave JS UI makes by itself. A location may have slashes in it, so the topic is read from its end:
 * named topics   `kitchen/lamp/switch_binary/endpoint_0/currentValue`
 * ValueId topics `kitchen/12/37/0/currentValue`
 */
const VALUE =
  /^(?<base>(?<node>.+)\/(?:(?<named>switch_binary|switch_multilevel)\/endpoint_(?<place>\d{1,3})|(?<id>37|38)\/(?<index>\d{1,3})))\/(?<property>currentValue|targetValue)$/

/** Reads a topic below the prefix; undefined where it is none that switches something. */
export function valueTopic(topic: string): ValueTopic | undefined {
  const { base, node, named, place, id, index, property } = VALUE.exec(topic)?.groups ?? {}
  if (base === undefined || node === undefined) return undefined
  return {
    base,
    node,
    kind: named === 'switch_multilevel' || id === '38' ? 'dimmer' : 'switch',
    endpoint: Number(place ?? index),
    property: property as ValueTopic['property'],
  }
}
