const MAX_BLOCKS = 1_000
const MAX_VALUES = 10_000
/** Of a question, the SDK checks each member of an object for up to 0.05 ms. */
const MAX_ASKED_MEMBERS = 1_000
const BLOCK_LISTS: ReadonlySet<string> = new Set(['content', 'contents', 'messages'])
/** The SDK reads the members of these, but not their values. */
const OPAQUE: ReadonlySet<string> = new Set(['structuredContent', 'arguments', '_meta'])
/** `listAll` reads these without the SDK. */
export const LISTS: ReadonlySet<string> = new Set(['tools', 'resources', 'resourceTemplates', 'prompts'])

/**
 * Why the SDK must not check these messages, such as "more than 10000 values"; undefined if it may. It writes kilobytes of
 * errors about each invalid entry, and reads each member of an object, so it gets small messages only.
 */
export function crowding(messages: readonly unknown[]): string | undefined {
  let values = 0
  let opaque = 0
  let isAsked = false
  const walk = (value: object, name: string): string | undefined => {
    const isList = Array.isArray(value)
    if (isList && !isAsked && LISTS.has(name)) return undefined
    if (isList && BLOCK_LISTS.has(name) && value.length > MAX_BLOCKS) return tooMany(MAX_BLOCKS, name)
    const isOpaque = OPAQUE.has(name)
    if (isList && isOpaque) return undefined
    // Before its keys are listed.
    if (isList && values + value.length > MAX_VALUES) return `more than ${MAX_VALUES} values`
    let members = 0
    for (const key in value) {
      if (isOpaque) {
        if (++opaque > MAX_VALUES) return tooMany(MAX_VALUES, name)
        continue
      }
      if (isAsked && !isList && ++members > MAX_ASKED_MEMBERS) return tooMany(MAX_ASKED_MEMBERS, name)
      if (++values > MAX_VALUES) return `more than ${MAX_VALUES} values`
      const one: unknown = value[key as keyof typeof value]
      const problem = typeof one === 'object' && one !== null ? walk(one, key) : undefined
      if (problem !== undefined) return problem
    }
    return undefined
  }
  for (const message of messages) {
    if (typeof message !== 'object' || message === null) continue
    isAsked = 'method' in message
    const problem = walk(message, 'message')
    if (problem !== undefined) return problem
  }
  return undefined
}

const tooMany = (limit: number, name: string): string => `more than ${limit} entries in "${name}"`
