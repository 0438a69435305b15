import type { OutgoingRequest } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'
import type { AuthPlan } from './auth-plan.ts'

/** Shows the same with every request. */
export class FixedAuth implements AuthPlan {
  readonly #secrets: SecretValues
  readonly #write: (request: OutgoingRequest) => OutgoingRequest

  constructor(secrets: SecretValues, write: (request: OutgoingRequest) => OutgoingRequest) {
    this.#secrets = secrets
    this.#write = write
  }

  apply(request: OutgoingRequest): OutgoingRequest {
    return this.#write(request)
  }

  secretsOf(): SecretValues {
    return this.#secrets
  }

  refused(): boolean {
    return false
  }
}
