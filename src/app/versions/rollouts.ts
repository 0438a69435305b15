import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { versionOf } from '../../core/execution/tool-view.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { Ledger } from '../../core/storage/ledger.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import type { Rollout } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Actor, AuditEvents, EventName } from '../audit-events.ts'
import type { Comparison, VersionFigures } from './comparison.ts'

/** A rollout that was changed at run time. */
export interface StoredRollout extends Rollout {
  /** When it was changed last: comparisons start then. */
  readonly started_at: string
}

/** What a rollout starts with. */
export type RolloutStart = Required<Pick<Rollout, 'candidate' | 'percent'>> & Pick<Rollout, 'by' | 'guard'>

/** The versions of a tool, and what their calls show. */
export interface VersionReport {
  readonly tool: string
  readonly rollout: Rollout | StoredRollout | null
  /** From when calls count. */
  readonly since: string
  readonly versions: readonly (VersionFigures & {
    readonly version: string
    readonly state: 'current' | 'candidate' | 'other'
    readonly deprecated: boolean
  })[]
  /** The candidate against the current version; null if there is no candidate. */
  readonly comparison: Comparison | null
}

interface RolloutParts {
  readonly settings: SettingStore
  readonly ledger: Pick<Ledger, 'versionCalls'>
  readonly events: AuditEvents
  readonly clock: Clock
  readonly log: Log
  readonly registry: () => ToolRegistry
}

const DAY_MS = 86_400_000
/** Without a rollout, the calls of this time count. */
const LOOK_BACK_MS = 7 * DAY_MS
/** The first calls of each version that count. */
export const MAX_COMPARED_CALLS = 20_000
const GUARD_EVERY_MS = 5_000

/** Which versions of tools callers get: what was changed at run time, else the configuration. */
export class Rollouts {
  readonly #parts: RolloutParts
  #configured: ReadonlyMap<string, Rollout> = new Map()
  #stored: ReadonlyMap<string, StoredRollout> = new Map()
  #cancel: (() => void) | undefined
  #guarding: Promise<void> = Promise.resolve()

  constructor(parts: RolloutParts) {
    this.#parts = parts
  }

  configure({ tools }: Pick<Config, 'tools'>): void {
    this.#configured = new Map(Object.entries(tools?.rollout ?? {}))
    this.#apply()
    for (const [tool, { current, candidate }] of this.#configured) {
      const known = this.#parts.registry().versionsOf(tool).map(versionOf)
      const missing = [current, candidate].find((version) => version !== undefined && !known.includes(version))
      // Tools of MCP servers come later.
      if (missing === undefined || known.length === 0) continue
      const problem = `tools.rollout.${tool}: there is no version '${missing}', only ${known.join(', ')}`
      writeLog(this.#parts.log, 'warn', { tool, problem }, 'Rollout configured with a warning')
    }
  }

  /** Reads what another server or a command has changed. */
  async load(): Promise<void> {
    const stored = await this.#parts.settings.list('rollout')
    this.#stored = new Map(stored.map(({ name, value }) => [name, value as StoredRollout]))
    this.#apply()
  }

  of(tool: string): Rollout | StoredRollout | undefined {
    return this.#stored.get(tool) ?? this.#configured.get(tool)
  }

  /** All rollouts by tool. */
  all(): ReadonlyMap<string, Rollout | StoredRollout> {
    return new Map([...this.#configured, ...this.#stored])
  }

  /** Gives a part of the callers another version, or changes that part. */
  async start(tool: string, { candidate, percent, by, guard }: RolloutStart, actor: Actor): Promise<void> {
    const { current } = this.#known(tool, candidate)
    if (candidate === current) {
      throw new ToolExecutionError(
        'INVALID_PARAMETERS',
        `Version ${candidate} of tool '${tool}' is the current one already`,
      )
    }
    const rollout = { current, candidate, percent, ...(by && { by }), ...(guard && { guard }) }
    await this.#change('rollout.started', tool, rollout, actor)
  }

  /** Makes the candidate the current version. */
  async promote(tool: string, actor: Actor): Promise<void> {
    const { candidate } = this.#running(tool)
    await this.#change('rollout.promoted', tool, { current: candidate }, actor)
  }

  /** Gives all callers the current version again. */
  async rollBack(tool: string, actor: Actor | undefined, reason?: string): Promise<void> {
    const { current } = this.#running(tool)
    await this.#change('rollout.rolled_back', tool, { current }, actor, reason)
  }

  /** Forgets what was changed at run time: the configuration counts. Returns false if nothing was. */
  async reset(tool: string, actor: Actor): Promise<boolean> {
    if (!(await this.#parts.settings.remove('rollout', tool))) return false
    await this.#record('rollout.reset', tool, this.#configured.get(tool), actor)
    await this.load()
    return true
  }

  /** The versions of a tool, and what their calls show; those of all tenants if there is none. */
  async report(tool: string, tenant: string | undefined): Promise<VersionReport> {
    const { compareCalls, figuresOf } = await import('./comparison.ts')
    const { registry, clock } = this.#parts
    const definitions = registry().versionsOf(tool)
    const rollout = this.of(tool) ?? null
    const current = currentOf(registry(), tool)
    const started = this.#stored.get(tool)?.started_at
    const since = started === undefined ? clock.wall() - LOOK_BACK_MS : Date.parse(started)
    const calls = new Map<string, Awaited<ReturnType<Ledger['versionCalls']>>>()
    for (const version of definitions.map(versionOf)) {
      calls.set(
        version,
        await this.#parts.ledger.versionCalls({ tenant, tool, version, from: since, limit: MAX_COMPARED_CALLS }),
      )
    }
    const side = (version: string) => ({ version, calls: calls.get(version) ?? [] })
    const { candidate, guard = {} } = rollout ?? {}
    return {
      tool,
      rollout,
      since: new Date(since).toISOString(),
      versions: definitions.map((definition) => {
        const version = versionOf(definition)
        const state = version === current ? 'current' : version === candidate ? 'candidate' : 'other'
        return { version, state, deprecated: definition.deprecated !== undefined, ...figuresOf(side(version).calls) }
      }),
      comparison:
        candidate === undefined || current === undefined
          ? null
          : compareCalls(side(current), side(candidate), {
              ...(guard.min_calls !== undefined && { minCalls: guard.min_calls }),
              ...(guard.max_error_increase !== undefined && { maxErrorIncrease: guard.max_error_increase }),
            }),
    }
  }

  /** Rolls back candidates that fail more often than their guard allows, until `close`. */
  watch(): void {
    this.#cancel = this.#parts.clock.after(GUARD_EVERY_MS, () => {
      this.#guarding = this.checkGuards().then(() => {
        if (this.#cancel !== undefined) this.watch()
      })
    })
  }

  async close(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.#guarding
  }

  async checkGuards(): Promise<void> {
    for (const [tool, { candidate, guard }] of this.all()) {
      if (candidate === undefined || guard === undefined) continue
      try {
        const { comparison } = await this.report(tool, undefined)
        if (comparison?.verdict !== 'worse') continue
        // Another server may have done it by now.
        await this.load()
        if (this.of(tool)?.candidate !== candidate) continue
        writeLog(
          this.#parts.log,
          'warn',
          { tool, candidate },
          `Rollout rolled back by its guard: ${comparison.sentence}`,
        )
        await this.rollBack(tool, undefined, comparison.sentence)
      } catch (err) {
        writeLog(this.#parts.log, 'error', { err, tool }, 'The guard of a rollout could not compare its versions')
      }
    }
  }

  #apply(): void {
    this.#parts.registry().rollOut(this.all())
  }

  /** The current version. Throws if the tool doesn't have this one. */
  #known(tool: string, version: string): { readonly current: string } {
    const registry = this.#parts.registry()
    const current = currentOf(registry, tool)
    if (current === undefined) throw new ToolExecutionError('TOOL_NOT_FOUND', `Tool '${tool}' not found`)
    const versions = registry.versionsOf(tool).map(versionOf)
    if (versions.includes(version)) return { current }
    const message = `Tool '${tool}' has no version '${version}': it has ${versions.join(', ')}`
    throw new ToolExecutionError('INVALID_PARAMETERS', message)
  }

  #running(tool: string): { readonly current: string; readonly candidate: string } {
    const { current, candidate } = this.of(tool) ?? {}
    if (current !== undefined && candidate !== undefined) return { current, candidate }
    const message = `Tool '${tool}' has no candidate: start a rollout first`
    throw new ToolExecutionError('INVALID_PARAMETERS', message)
  }

  async #change(
    event: EventName,
    tool: string,
    rollout: Rollout,
    actor: Actor | undefined,
    reason?: string,
  ): Promise<void> {
    const value: StoredRollout = { ...rollout, started_at: new Date(this.#parts.clock.wall()).toISOString() }
    const before = this.of(tool)
    await this.#parts.settings.put({ kind: 'rollout', name: tool, value })
    this.#stored = new Map(this.#stored).set(tool, value)
    this.#apply()
    await this.#record(event, tool, rollout, actor, { old: before ?? null, ...(reason && { reason }) })
  }

  async #record(
    event: EventName,
    tool: string,
    rollout: Rollout | undefined,
    by: Actor | undefined,
    more: object = {},
  ): Promise<void> {
    const detail = { new: rollout ?? null, ...more }
    await this.#parts.events.record(event, { ...(by && { by }), subject: tool, detail })
  }
}

function currentOf(registry: ToolRegistry, name: string): string | undefined {
  const tool = registry.get(name)
  return tool && versionOf(registry.definitionOf(tool))
}
