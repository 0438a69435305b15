import type { Log } from '../core/log.ts'
import type { ToolUseStore } from '../core/storage/tool-use-store.ts'
import { effectiveGate, type GateSettings, ToolUseGate } from '../validation/tool-use/tool-use-gate.ts'

/** What acts on how models use tools, with all that is known by now; undefined where nothing is to be done about it. */
export async function openGate(
  settings: GateSettings | undefined,
  store: ToolUseStore,
  log: Log,
): Promise<ToolUseGate | undefined> {
  const { gate } = effectiveGate(settings)
  if (gate === 'off') return undefined
  const opened = new ToolUseGate(store, gate, settings ?? {}, log)
  await opened.refresh()
  return opened
}
