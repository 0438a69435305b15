import { LOCAL_TENANT } from '../../core/call.ts'
import { silentLog } from '../../core/log.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import { ModelValidationTracker } from '../../validation/model-validation-tracker.ts'
import { TrialRecorder } from '../../validation/running/run-suites.ts'
import { ToolUseTracker } from '../../validation/tool-use/tool-use-tracker.ts'
import type { GlobalOptions } from '../global-options.ts'
import { hasStore } from '../has-store.ts'
import { withStore } from '../open-store.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'

/** Does work with the store to record trials in, where there is one. A store that cannot be opened is said, and done without. */
export async function withRecorder<T>(
  terminal: Terminal,
  options: GlobalOptions,
  registry: ToolRegistry,
  work: (recorder: TrialRecorder | undefined) => Promise<T>,
): Promise<T> {
  if (!hasStore()) return work(undefined)
  let opened = false
  try {
    return await withStore(options, async (storage) => {
      opened = true
      const tests = new ModelValidationTracker({ store: storage.validations })
      const uses = new ToolUseTracker({ store: storage.toolUse, log: silentLog })
      return work(new TrialRecorder({ tests, uses, registry, tenant: LOCAL_TENANT })).finally(() => uses.close())
    })
  } catch (error) {
    if (opened) throw error
    const reason = error instanceof Error ? error.message : String(error)
    terminal.note(printableLine(`The trials are not recorded: ${reason}`))
    return work(undefined)
  }
}
