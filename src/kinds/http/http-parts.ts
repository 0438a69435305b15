import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { HttpSettings } from './http-implementation.ts'

/** What HTTP tools need of the installation. */
export interface HttpParts {
  readonly settings: HttpSettings
  /** What `${VAR}` is replaced from. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: Log
  readonly clock: Clock
}
