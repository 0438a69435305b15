import { ModelError } from '../model-error.ts'

/** An id that leads to no provider: the caller's mistake, before anybody was asked. */
export class UnknownModelError extends ModelError {
  constructor(message: string) {
    super(message)
    this.name = 'UnknownModelError'
  }
}
