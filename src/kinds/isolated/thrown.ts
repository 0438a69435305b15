import { MAX_ERROR_CHARACTERS } from './protocol.ts'

/** What of a thrown value crosses the border between processes. */
export interface Thrown {
  readonly message: string
  readonly code?: string
}

const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

/** Whether a code looks like one of ours or of the system's, such as `RATE_LIMITED` or `ENOENT`. */
export const isCode = (code: unknown): code is string => typeof code === 'string' && CODE.test(code)

/** Reads a thrown value, whatever it is, without trusting it to be an error. */
export function thrown(error: unknown): Thrown {
  try {
    const { message, code } = Object(error) as { message?: unknown; code?: unknown }
    const text = typeof message === 'string' ? message : String(error)
    return { message: text.slice(0, MAX_ERROR_CHARACTERS), ...(isCode(code) ? { code } : {}) }
  } catch {
    return { message: 'the handler threw a value that cannot be shown' }
  }
}
