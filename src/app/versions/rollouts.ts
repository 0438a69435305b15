import type { Config } from '../../config/config.ts'
import type { Clock } from '../../core/clock.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { versionOf } from '../../core/execution/tool-view.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { Ledger } from '../../core/storage/ledger.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import type { Rollout } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import type { Actor, AuditEvents, EventName } from '../callers/audit-events.ts'
import { NOT_COUNTED, type Objectives } from '../service-levels/objectives.ts'
import type { Comparison, VersionFigures } from './comparison.ts'

/** A rollout that was changed at run time. */
interface StoredRollout extends Rollout {
  /** When it was changed last: comparisons start then. */
  readonly started_at: string
}

/** A rollout of the configuration, and since when it counts. */
interface ConfiguredRollout {
  readonly configured: Rollout
  readonly started_at: string
}

/** What a rollout starts with. Without `current`, the current version stays. */
export type RolloutStart = Required<Pick<Rollout, 'candidate' | 'percent'>> &
  Partial<Pick<Rollout, 'current' | 'by' | 'guard'>>

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
  readonly objectives?: Pick<Objectives, 'burnOf'>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Without a rollout, the calls of this time count. */
const LOOK_BACK_MS = 7 * DAY_MS
/** The first calls of each version that count. */
const MAX_COMPARED_CALLS = 20_000
const GUARD_EVERY_MS = 5_000
/** Each failed attempt means that somebody else has changed the rollout meanwhile. */
const MAX_ATTEMPTS = 10

/** Which versions of tools callers get: what was changed at run time, else the configuration. */
export class Rollouts {
  readonly #parts: RolloutParts
  #configured: ReadonlyMap<string, Rollout> = new Map()
  #rows: ReadonlyMap<string, StoredRollout | ConfiguredRollout> = new Map()
  #cancel: (() => void) | undefined
  #guarding: Promise<void> = Promise.resolve()

  constructor(parts: RolloutParts) {
    this.#parts = parts
  }

  configure({ tools }: Pick<Config, 'tools'>): void {
    this.#configured = new Map(Object.entries(tools?.rollout ?? {}))
    this.#apply()
  }

  /** Stores since when the rollouts of the configuration count: earlier calls must not roll them back. */
  async begin(): Promise<void> {
    await this.load()
    for (const [tool, configured] of this.#configured) {
      const row = this.#rows.get(tool)
      const isKnown = row !== undefined && (!('configured' in row) || isEqual(row.configured, configured))
      if (configured.candidate !== undefined && !isKnown) await this.#count(tool, configured, row)
    }
    for (const { tool, problem } of this.#parts.registry().rolloutProblems()) {
      // Tools of MCP servers come later.
      const isHere = this.#parts.registry().has(tool)
      if (isHere && this.#stored(tool))
        writeLog(this.#parts.log, 'warn', { tool, problem }, 'A stored rollout is invalid')
    }
  }

  /** Reads what another server or a command has changed. */
  async load(): Promise<void> {
    const stored = await this.#parts.settings.list('rollout')
    this.#rows = new Map(stored.map(({ name, value }) => [name, value as StoredRollout]))
    this.#apply()
  }

  of(tool: string): Rollout | StoredRollout | undefined {
    return this.#stored(tool) ?? this.#configured.get(tool)
  }

  /** All rollouts by tool. */
  all(): ReadonlyMap<string, Rollout | StoredRollout> {
    const all = new Map<string, Rollout | StoredRollout>(this.#configured)
    for (const tool of this.#rows.keys()) {
      const stored = this.#stored(tool)
      if (stored !== undefined) all.set(tool, stored)
    }
    return all
  }

  #stored(tool: string): StoredRollout | undefined {
    const row = this.#rows.get(tool)
    return row === undefined || 'configured' in row ? undefined : row
  }

  /** Gives a part of the callers another version, or changes that part. */
  async start(tool: string, asked: RolloutStart, actor: Actor): Promise<void> {
    const { candidate, percent, by, guard } = asked
    await this.#change('rollout.started', tool, actor, () => {
      const { current } = this.#known(tool, [candidate, ...(asked.current === undefined ? [] : [asked.current])])
      if (candidate !== (asked.current ?? current)) {
        return { current: asked.current ?? current, candidate, percent, ...(by && { by }), ...(guard && { guard }) }
      }
      throw new ToolExecutionError(
        'INVALID_PARAMETERS',
        `Version ${candidate} of tool '${tool}' is the current one already: set current to the version that the other callers get`,
      )
    })
  }

  /** Makes the candidate the current version. */
  async promote(tool: string, actor: Actor): Promise<void> {
    await this.#change('rollout.promoted', tool, actor, () => ({ current: this.#running(tool).candidate }))
  }

  /** Gives all callers the current version again. */
  async rollBack(tool: string, actor: Actor): Promise<void> {
    await this.#change('rollout.rolled_back', tool, actor, () => ({ current: this.#running(tool).current }))
  }

  /** Forgets what was changed at run time: the configuration counts. Returns false if nothing was. */
  async reset(tool: string, actor: Actor): Promise<boolean> {
    await this.load()
    const row = this.#rows.get(tool)
    if (this.#stored(tool) === undefined) return false
    const configured = this.#configured.get(tool)
    if (configured === undefined) await this.#parts.settings.remove('rollout', tool)
    else await this.#count(tool, configured, row)
    await this.#record('rollout.reset', tool, configured, actor)
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
    const started = this.#rows.get(tool)?.started_at
    const since = started === undefined ? clock.wall() - LOOK_BACK_MS : Date.parse(started)
    const calls = new Map<string, Awaited<ReturnType<Ledger['versionCalls']>>>()
    for (const version of definitions.map(versionOf)) {
      calls.set(
        version,
        await this.#parts.ledger.versionCalls({ tenant, tool, version, from: since, limit: MAX_COMPARED_CALLS }),
      )
    }
    const side = (version: string) => {
      const all = calls.get(version) ?? []
      return { version, calls: all, isCut: all.length >= MAX_COMPARED_CALLS }
    }
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
    for (const [tool, { guard }] of this.all()) {
      if (guard === undefined) continue
      try {
        const { comparison, rollout } = await this.report(tool, undefined)
        if (comparison === null || rollout === null) continue
        const { current, candidate } = rollout
        const reason =
          comparison.verdict === 'worse' ? comparison.sentence : await this.#burn(tool, candidate as string)
        if (reason === undefined) continue
        // Another server may have done it by now, or a person may have changed it.
        const next = () => (isEqual(this.of(tool), rollout) ? { current } : undefined)
        if (!(await this.#change('rollout.rolled_back', tool, undefined, next, reason))) continue
        writeLog(this.#parts.log, 'warn', { tool, candidate }, `Rollout rolled back by its guard: ${reason}`)
      } catch (err) {
        writeLog(this.#parts.log, 'error', { err, tool }, 'The guard of a rollout could not compare its versions')
      }
    }
  }

  /** Whether the candidate alone burns an objective of its tool, in words. */
  async #burn(tool: string, candidate: string): Promise<string | undefined> {
    const { objectives, ledger, clock } = this.#parts
    if (objectives === undefined) return undefined
    const started = Date.parse(this.#rows.get(tool)?.started_at ?? '') || 0
    const from = Math.max(started, clock.wall() - HOUR_MS)
    const query = { tenant: undefined, tool, version: candidate, from, limit: MAX_COMPARED_CALLS }
    return objectives.burnOf(tool, await ledger.versionCalls({ ...query, without: NOT_COUNTED }))
  }

  #apply(): void {
    this.#parts.registry().rollOut(this.all())
  }

  /** The current version. Throws if the tool doesn't have these. */
  #known(tool: string, asked: readonly string[]): { readonly current: string } {
    const registry = this.#parts.registry()
    const current = currentOf(registry, tool)
    if (current === undefined) throw new ToolExecutionError('TOOL_NOT_FOUND', `Tool '${tool}' not found`)
    const versions = registry.versionsOf(tool).map(versionOf)
    const missing = asked.find((version) => !versions.includes(version))
    if (missing === undefined) return { current }
    const message = `Tool '${tool}' has no version '${missing}': it has ${versions.join(', ')}`
    throw new ToolExecutionError('INVALID_PARAMETERS', message)
  }

  #running(tool: string): { readonly current: string; readonly candidate: string } {
    const { current, candidate } = this.of(tool) ?? {}
    if (current !== undefined && candidate !== undefined) return { current, candidate }
    const message = `Tool '${tool}' has no candidate: start a rollout first`
    throw new ToolExecutionError('INVALID_PARAMETERS', message)
  }

  /** Changes what is stored now, whoever changes it at the same time. Returns false if `next` changes nothing. */
  async #change(
    event: EventName,
    tool: string,
    actor: Actor | undefined,
    next: () => Rollout | undefined,
    reason?: string,
  ): Promise<boolean> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      await this.load()
      const [row, before, rollout] = [this.#rows.get(tool), this.of(tool), next()]
      if (rollout === undefined) return false
      if (!(await this.#put(tool, { ...rollout, started_at: this.#now() }, row))) continue
      await this.#record(event, tool, rollout, actor, { old: before ?? null, ...(reason && { reason }) })
      return true
    }
    throw new ToolExecutionError('SERVICE_UNAVAILABLE', `The rollout of tool '${tool}' keeps changing: try again`)
  }

  /** Counts the calls of a configured rollout from now on. */
  #count(tool: string, configured: Rollout, before: object | undefined): Promise<boolean> {
    return this.#put(tool, { configured, started_at: this.#now() }, before)
  }

  /** Returns false if another server has changed it since it was read. */
  async #put(tool: string, value: StoredRollout | ConfiguredRollout, before: object | undefined): Promise<boolean> {
    if (!(await this.#parts.settings.replace({ kind: 'rollout', name: tool, value }, before))) return false
    this.#rows = new Map(this.#rows).set(tool, value)
    this.#apply()
    return true
  }

  #now(): string {
    return new Date(this.#parts.clock.wall()).toISOString()
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

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

function currentOf(registry: ToolRegistry, name: string): string | undefined {
  const tool = registry.get(name)
  return tool && versionOf(registry.definitionOf(tool))
}
