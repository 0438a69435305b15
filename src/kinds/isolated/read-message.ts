import { isDeep } from '../../core/json-depth.ts'
import { type ChildMessage, LOG_LEVELS, MAX_MESSAGE_DEPTH } from './protocol.ts'

/** What a line from a child means; undefined where it means nothing: the child's own code may have written it. */
export function readMessage(line: string): ChildMessage | undefined {
  let message: ChildMessage
  if (isDeep(line, MAX_MESSAGE_DEPTH)) return undefined
  try {
    message = JSON.parse(line)
  } catch {
    return undefined
  }
  if (message === null || typeof message !== 'object') return undefined
  switch (message.type) {
    case 'ready':
    case 'done':
    case 'report':
      return message
    case 'failed':
      return typeof message.message === 'string' ? message : undefined
    case 'log':
      return LOG_LEVELS.includes(message.level) && typeof message.message === 'string' ? message : undefined
    default:
      return undefined
  }
}
