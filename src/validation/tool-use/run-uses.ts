import type { OnCalls } from '../../chat/call-report.ts'
import type { TrackedCall } from '../../chat/run.ts'
import { LOCAL_TENANT } from '../../core/call.ts'
import type { CallContext } from '../../core/call-context.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { Problem } from '../../core/tool-result.ts'
import type { OfferedTool } from '../../models/model.ts'
import {
  currentTool,
  schemaHash,
  type ToolUse,
  type ToolUseFailureKind,
  type ToolUseOutcome,
  UNKNOWN_TOOL,
} from './tool-use.ts'
import type { ToolUseTracker } from './tool-use-tracker.ts'

/** Returns a listener that counts how models use the tools of a registry. */
export function countUses(tracker: ToolUseTracker, registry: ToolRegistry): OnCalls {
  const find = currentTool(registry)
  return (calls, context) => {
    for (const use of runUses(calls, context, find)) tracker.record(use)
  }
}

const PASSED: ToolUseOutcome = Object.freeze({ passed: true })
const NO_SCHEMA = ''

/**
 * Judges the calls of a run. Unknown, malformed and invalid calls and calls recovered from text are failures of the
 * model. A call that reached the tool isn't, even if the tool fails, times out or is forbidden.
 */
export function runUses(
  calls: readonly TrackedCall[],
  { tenant = LOCAL_TENANT, model, runId }: CallContext,
  find: (tool: string) => OfferedTool | undefined,
): ToolUse[] {
  if (model === undefined) return []
  const uses: ToolUse[] = []
  for (const call of calls) {
    // Calls by the user's own request, and calls that never ran.
    if (call.iteration === 0 || call.not_run) continue
    const outcome = outcomeOf(call)
    const unknown = !outcome.passed && outcome.kind === 'unknown_tool'
    const tool = unknown ? undefined : find(call.tool)
    uses.push({
      tenant,
      model,
      tool: tool?.name ?? UNKNOWN_TOOL,
      schemaHash: tool === undefined ? NO_SCHEMA : schemaHash(tool),
      outcome,
      source: 'run',
      ...(runId !== undefined && { runId }),
    })
  }
  return uses
}

function outcomeOf({ tool, params, result, recovered }: TrackedCall): ToolUseOutcome {
  if (!result.success && result.error_code === 'TOOL_NOT_FOUND') {
    return { passed: false, kind: 'unknown_tool', message: result.error, actual: tool }
  }
  if (!result.success && result.error_code === 'INVALID_PARAMETERS') {
    const [problem] = result.details?.problems ?? []
    return {
      passed: false,
      kind: isObject(params) ? kindOf(problem) : 'malformed_call',
      message: result.error,
      ...(problem !== undefined && { expected: problem }),
      actual: params,
    }
  }
  if (recovered) {
    const message = `The call of '${tool}' was written as text`
    return { passed: false, kind: 'recovered_call', message, actual: params }
  }
  return PASSED
}

/** Maps the first violated schema rule. */
function kindOf(problem: Problem | undefined): ToolUseFailureKind {
  switch (problem?.rule) {
    case 'required':
    case 'dependentRequired':
      return 'missing_parameter'
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'unexpected_parameter'
    case 'type':
      return 'wrong_type'
    default:
      return 'wrong_value'
  }
}
