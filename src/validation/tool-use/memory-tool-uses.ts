import {
  addToolUse,
  type DoubtfulToolUse,
  KEPT_FAILURES,
  KEPT_SCHEMAS,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'

/** Counts of one process, gone when it ends. */
export class MemoryToolUses implements ToolUseStore {
  readonly #tenants = new Map<string, Map<string, StoredToolUse>>()

  async list(tenant: string): Promise<readonly StoredToolUse[]> {
    const uses = this.#tenants.get(tenant) ?? new Map<string, StoredToolUse>()
    return structuredClone([...uses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use))
  }

  async add(additions: readonly ToolUseAddition[]): Promise<void> {
    for (const { tenant, ...more } of structuredClone(additions)) {
      const uses = this.#tenants.get(tenant) ?? new Map<string, StoredToolUse>()
      this.#tenants.set(tenant, uses)
      uses.set(keyOf(more), addToolUse(uses.get(keyOf(more)), more))
      const same = [...uses.values()].filter(({ model_id, tool }) => model_id === more.model_id && tool === more.tool)
      const oldest = same.sort((a, b) => (a.last_used < b.last_used ? 1 : -1)).slice(KEPT_SCHEMAS)
      for (const use of oldest) uses.delete(keyOf(use))
    }
  }

  async replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void> {
    const kept = structuredClone(uses).map((use) => ({ ...use, failures: use.failures.slice(-KEPT_FAILURES) }))
    this.#tenants.set(tenant, new Map(kept.map((use) => [keyOf(use), use])))
  }

  async doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]> {
    const found: DoubtfulToolUse[] = []
    for (const [tenant, uses] of this.#tenants) {
      for (const { model_id, tool, schema_hash, suite, run } of uses.values()) {
        const trials = suite.trials + run.trials
        const successes = suite.successes + run.successes
        if (trials < minimumTrials || successes >= threshold * trials) continue
        found.push({ tenant, model_id, tool, schema_hash, trials, successes })
      }
    }
    return found
  }
}

const keyOf = ({ model_id, tool, schema_hash }: StoredToolUse): string => JSON.stringify([model_id, tool, schema_hash])
