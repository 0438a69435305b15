import type { Section } from '../section.ts'
import { audit } from './audit.ts'
import { codeMode } from './code-mode.ts'
import { deadlines } from './deadlines.ts'
import { direct } from './direct.ts'
import { durable } from './durable.ts'
import { heapGrowth } from './heap-growth.ts'
import { httpTools } from './http-tools.ts'
import { knowledge } from './knowledge.ts'
import { library } from './library.ts'
import { loop } from './loop.ts'
import { mcp } from './mcp.ts'
import { metrics } from './metrics.ts'
import { mini } from './mini.ts'
import { openapi } from './openapi.ts'
import { pipeline } from './pipeline.ts'
import { registering } from './registering.ts'
import { scale } from './scale.ts'
import { server } from './server.ts'

/** Every table of the report, in its order. */
export const sections: readonly Section[] = [
  direct,
  library,
  scale,
  registering,
  heapGrowth,
  deadlines,
  loop,
  pipeline,
  codeMode,
  mcp,
  httpTools,
  openapi,
  server,
  audit,
  durable,
  metrics,
  knowledge,
  mini,
]
