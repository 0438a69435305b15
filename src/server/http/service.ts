import type { Installation } from '../../config/installation.ts'
import type { Prometheus } from '../../telemetry/prometheus.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { McpDoors } from '../routes/mcp-routes.ts'
import type { Traffic } from './context.ts'
import type { Streams } from './event-stream.ts'

/** What the routes of one server share. */
export interface Service {
  readonly installation: Installation
  /** Of this package, as clients are told. */
  readonly version: string
  readonly streams: Streams
  readonly jobs: Jobs
  readonly mcp: McpDoors
  readonly prometheus: Prometheus
  readonly traffic: Traffic
}
