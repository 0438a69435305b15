import type { OnCalls } from '../../chat/call-report.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import { currentTool } from './current-tool.ts'
import { runUses } from './run-uses.ts'
import type { ToolUseTracker } from './tool-use-tracker.ts'

/** Counts how models use the tools of a registry, run by run. */
export function countUses(tracker: ToolUseTracker, registry: ToolRegistry): OnCalls {
  const find = currentTool(registry)
  return (calls, context) => {
    for (const use of runUses(calls, context, find)) tracker.record(use)
  }
}
