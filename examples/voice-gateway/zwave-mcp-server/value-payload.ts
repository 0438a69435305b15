/** What a message about a value says. */
export interface ValuePayload {
  readonly value: unknown
  /** Where Z-Wave JS UI includes node info. */
  readonly nodeName?: string
  readonly nodeLocation?: string
}

const LONGEST_PAYLOAD = 64 * 1024

/**
 * Reads all three payload types of Z-Wave JS UI: `{"time": …, "value": true}`, the entire ValueId object, and just the
 * value. Undefined where it is none of them: an empty one, text that is no JSON, or more than 64 KB.
 */
export function valuePayload(payload: Uint8Array): ValuePayload | undefined {
  if (payload.byteLength === 0 || payload.byteLength > LONGEST_PAYLOAD) return undefined
  let read: unknown
  try {
    read = JSON.parse(new TextDecoder().decode(payload))
  } catch {
    return undefined
  }
  if (typeof read !== 'object' || read === null) return { value: read }
  const { value, nodeName, nodeLocation } = read as Record<string, unknown>
  if (value === undefined) return undefined
  return {
    value,
    ...(typeof nodeName === 'string' && nodeName !== '' && { nodeName }),
    ...(typeof nodeLocation === 'string' && nodeLocation !== '' && { nodeLocation }),
  }
}
