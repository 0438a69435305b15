import type { OnCalls } from '../../chat/call-report.ts'
import type { TrackedCall } from '../../chat/run.ts'
import { LOCAL_TENANT } from '../../core/call.ts'
import type { CallContext } from '../../core/call-context.ts'
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

/** Counts how models use the tools of a registry, run by run. */
export function countUses(tracker: ToolUseTracker, registry: ToolRegistry): OnCalls {
  const find = currentTool(registry)
  return (calls, context) => {
    for (const use of runUses(calls, context, find)) tracker.record(use)
  }
}

const PASSED: ToolUseOutcome = Object.freeze({ passed: true })
const NO_SCHEMA = ''

/**
 * How a model used tools in a run. A call that was unknown, malformed, invalid or had to be found in the text is a
 * failure of the model. One that got as far as the tool is not, whatever the tool made of it: a tool that fails, is
 * forbidden, limited or too slow says nothing about the model.
 */
export function runUses(
  calls: readonly TrackedCall[],
  { tenant = LOCAL_TENANT, model, runId }: CallContext,
  find: (tool: string) => OfferedTool | undefined,
): ToolUse[] {
  if (model === undefined) return []
  const uses: ToolUse[] = []
  for (const call of calls) {
    // Not made by the model, or never judged.
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
    const isObject = typeof params === 'object' && params !== null && !Array.isArray(params)
    return {
      passed: false,
      kind: isObject ? kindOf(problem) : 'malformed_call',
      message: result.error,
      ...(problem !== undefined && { expected: problem }),
      actual: params,
    }
  }
  if (recovered) {
    const message = `The call of '${tool}' was written as text, where it was found`
    return { passed: false, kind: 'recovered_call', message, actual: params }
  }
  return PASSED
}

/** By the rule of the schema that was broken first. */
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
