import type { Case } from '../case.ts'
import { allocates } from './allocates.ts'
import { approvalBindsParameters, approvalRespected, resumeWritesOnce } from './approval.ts'
import { cancelReachesTool } from './cancel-reaches-tool.ts'
import { cpuBound } from './cpu-bound.ts'
import { deadlineStopsWork } from './deadline-stops-work.ts'
import { hugeResult } from './huge-result.ts'
import { invalidArguments } from './invalid-arguments.ts'
import { loopsForEver } from './loops-for-ever.ts'
import { malformedJson } from './malformed-json.ts'
import { mcpHangs } from './mcp-hangs.ts'
import { mcpHttpRestarted } from './mcp-http-restarted.ts'
import { mcpKilledBetween } from './mcp-killed-between.ts'
import { mcpKilledDuring } from './mcp-killed-during.ts'
import { mcpLeavesNothing } from './mcp-leaves-nothing.ts'
import { mcpNoise } from './mcp-noise.ts'
import { mcpSlowStart } from './mcp-slow-start.ts'
import { mcpWriteOnce } from './mcp-write-once.ts'
import { neverEnds } from './never-ends.ts'
import { oneOfTwoThrows } from './one-of-two-throws.ts'
import { parallelBounded } from './parallel-bounded.ts'
import { unknownTool } from './unknown-tool.ts'

/** Every case, in the order of the table. */
export const cases: readonly Case[] = [
  neverEnds,
  deadlineStopsWork,
  cancelReachesTool,
  cpuBound,
  allocates,
  hugeResult,
  invalidArguments,
  malformedJson,
  unknownTool,
  oneOfTwoThrows,
  loopsForEver,
  parallelBounded,
  mcpKilledBetween,
  mcpKilledDuring,
  mcpHttpRestarted,
  mcpHangs,
  mcpWriteOnce,
  mcpLeavesNothing,
  mcpNoise,
  mcpSlowStart,
  approvalRespected,
  approvalBindsParameters,
  resumeWritesOnce,
]
