import { shortened } from '../../core/schema/problem-words.ts'
import { HttpProblem } from './problem.ts'

/** Why a user can't sign in. */
export type SignInFault = 'expired' | 'no_role' | 'no_tenant' | 'refused' | 'unavailable'

/** What an operator needs to find the wrong setting. For the log only, and never the token. */
export interface Mismatch {
  /** The claim of the token that failed the check. */
  readonly claim?: string | readonly string[]
  /** Or the parameter of its header. */
  readonly header?: string
  readonly expected?: unknown
  readonly actual?: unknown
}

export class SignInError extends Error {
  readonly fault: SignInFault
  readonly mismatch: Mismatch

  constructor(fault: SignInFault, message: string, mismatch: Mismatch = {}) {
    super(message)
    this.fault = fault
    this.mismatch = mismatch
  }

  /** As an answer to a request with a token. */
  problem(challenge: string): HttpProblem {
    const { fault, message } = this
    if (fault === 'unavailable') {
      return new HttpProblem(503, 'The token could not be checked', message, { 'retry-after': '5' })
    }
    const title = 'The token is not valid here'
    if (fault !== 'refused' && fault !== 'expired') return new HttpProblem(403, title, message)
    return new HttpProblem(401, title, message, { 'www-authenticate': challenge })
  }
}

export const refused = (message: string, mismatch?: Mismatch): SignInError =>
  new SignInError('refused', message, mismatch)

export const unavailable = (why = 'the issuer does not answer; try again later, or use an API key'): SignInError =>
  new SignInError('unavailable', why)

const MAX_SHOWN = 20

/** A value of a token as the log shows it. */
export function shownValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_SHOWN).map(shownValue)
  if (typeof value === 'string') return shortened(value)
  return typeof value === 'object' && value !== null ? 'an object' : value
}
