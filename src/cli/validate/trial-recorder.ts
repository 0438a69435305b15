import { LOCAL_TENANT } from '../../core/call.ts'
import { type Log, silentLog } from '../../core/log.ts'
import type { Storage } from '../../core/storage/storage.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import { ModelValidationTracker } from '../../validation/model-validation-tracker.ts'
import { byTool } from '../../validation/reports/build-report.ts'
import { isJudged, type Trial } from '../../validation/running/trial.ts'
import { schemaHash } from '../../validation/tool-use/schema-hash.ts'
import { ToolUseTracker } from '../../validation/tool-use/tool-use-tracker.ts'

/** Puts trials on record in the store: each is a test of its model, and a use of the tools that its case is about. */
export class TrialRecorder {
  readonly #tests: ModelValidationTracker
  readonly #uses: ToolUseTracker
  readonly #registry: ToolRegistry

  constructor(storage: Storage, registry: ToolRegistry, log: Log = silentLog) {
    this.#tests = new ModelValidationTracker({ store: storage.validations })
    this.#uses = new ToolUseTracker({ store: storage.toolUse, log })
    this.#registry = registry
  }

  /** One that was not answered says nothing about the model, and is not recorded. */
  async record(trial: Trial): Promise<void> {
    if (!isJudged(trial)) return
    const { verdict, suite, repetition, case: asked, model } = trial
    const { id } = model.model
    const details = { suite: suite.suite.name, case: asked.id, repetition }
    if (verdict.passed) await this.#tests.recordSuccess(id, details)
    else await this.#tests.recordFailure(id, verdict.message, { ...details, kind: verdict.kind })
    for (const [tool] of byTool(trial, trial)) {
      const hash = this.#hashOf(trial, tool)
      if (hash === undefined) continue
      this.#uses.record({ tenant: LOCAL_TENANT, model: id, tool, schemaHash: hash, outcome: verdict, source: 'suite' })
    }
  }

  close(): Promise<void> {
    return this.#uses.close()
  }

  /** Only tools that this installation has, as it has them: those of a yardstick are nobody's here. */
  #hashOf({ case: { tools } }: Trial, name: string): string | undefined {
    const offered = tools.find((tool) => tool.name === name)
    const registered = this.#registry.get(name)
    if (offered === undefined || registered === undefined) return undefined
    const hash = schemaHash(offered)
    return hash === schemaHash(this.#registry.definitionOf(registered)) ? hash : undefined
  }
}
