import type { TenantConfig } from '../../config/service-schema.ts'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { boundedJson, redactText } from '../../core/records/redact.ts'
import type { KeyRule, KeyStore, StoredKey } from '../../core/storage/key-store.ts'
import type { EventEntry } from '../../core/storage/ledger.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import type { Caller } from './callers.ts'
import { type Flags, storedFlags } from './tenants.ts'

/** What the audit log records besides calls. */
export type EventName =
  | 'alert.opened'
  | 'alert.resolved'
  | 'approval.asked'
  | 'approval.decided'
  | 'config.changed'
  | 'config.loaded'
  | 'connection.broken'
  | 'connection.created'
  | 'connection.removed'
  | 'flag.removed'
  | 'flag.set'
  | 'key.changed'
  | 'key.created'
  | 'key.refused'
  | 'key.restored'
  | 'key.revoked'
  | 'key.rotated'
  | 'mcp.pinned'
  | 'mcp.requested'
  | 'model.tested'
  | 'package.added'
  | 'package.removed'
  | 'rating.changed'
  | 'rollout.promoted'
  | 'rollout.reset'
  | 'rollout.rolled_back'
  | 'rollout.started'
  | 'secret.removed'
  | 'secret.set'
  | 'session.started'
  | 'tenant.created'
  | 'suite.changed'
  | 'tenant.crossed'
  | 'user.acted_for'
  | 'user.revoked'

/** The tenant of events that only callers with the scope `installation` may see. */
const INSTALLATION = '*'

/** Who did it: an API key, or the user of this machine. */
export interface Actor {
  readonly id: string
  readonly name: string
  /** Default: `rest`. */
  readonly source?: 'rest' | 'cli' | 'code'
}

export interface EventParts {
  /** With the source null, its interface is not known. */
  readonly by?: Actor | (Omit<Actor, 'source'> & { readonly source: null }) | undefined
  /** Default: the whole installation. */
  readonly tenant?: string | undefined
  readonly subject?: string | undefined
  readonly failed?: boolean
  readonly detail?: Readonly<Record<string, unknown>>
  /** Only its keyed hash is stored. */
  readonly content?: unknown
}

/** How long repeats are gathered into one row. */
const GATHER_MS = 60_000
/** Anyone can cause some events, so the rows of a minute are limited: for each event, two per source. */
export const MAX_SOURCES = 100
const MAX_SUBJECTS = 10
const OTHERS = 'others'

interface Repeats {
  readonly parts: EventParts
  readonly subjects: Set<string>
  count: number
  since: number
  until: number
}

interface AuditEventsOptions {
  readonly write: (entry: EventEntry) => void | Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** Records events in the audit log. */
export class AuditEvents {
  readonly #write: AuditEventsOptions['write']
  readonly #clock: Clock
  readonly #log: Log
  readonly #sources = new Map<EventName, Map<string, Repeats>>()
  #cancel: (() => void) | undefined

  constructor({ write, clock, log }: AuditEventsOptions) {
    this.#write = write
    this.#clock = clock
    this.#log = log
  }

  /** Records a change. With a durable audit log, the promise settles when the row is stored. */
  record(event: EventName, parts: EventParts): void | Promise<void> {
    return this.#write(entryOf(event, parts, this.#clock.wall(), 1))
  }

  /** Records what a source can repeat at will: the first time at once, the repeats of a minute as one row. */
  count(event: EventName, source: string, parts: EventParts): void {
    const sources = this.#sources.get(event) ?? new Map<string, Repeats>()
    this.#sources.set(event, sources)
    const own = `${parts.tenant} ${source}`
    const isOther = !sources.has(own) && sources.size >= MAX_SOURCES
    const key = isOther ? OTHERS : own
    const now = this.#clock.wall()
    const repeats = sources.get(key)
    if (repeats === undefined) {
      const kept = isOther ? { failed: parts.failed ?? false, detail: { sources: `beyond ${MAX_SOURCES}` } } : parts
      sources.set(key, { parts: kept, subjects: new Set(), count: 0, since: now, until: now })
      void this.#write(entryOf(event, kept, now, 1))
    } else {
      if (repeats.count++ === 0) repeats.since = now
      repeats.until = now
      if (parts.subject !== undefined && repeats.subjects.size < MAX_SUBJECTS) repeats.subjects.add(parts.subject)
    }
    this.#cancel ??= this.#clock.after(GATHER_MS, () => this.flush())
  }

  /** Records that a caller asked for something of another tenant, `owner`. The answer doesn't wait for it. */
  crossed(caller: Caller, what: string, owner: string | undefined | Promise<string | undefined>): void {
    Promise.resolve(owner).then(
      (tenant) => {
        if (tenant === undefined || tenant === caller.tenant) return
        const detail = { caller_tenant: caller.tenant, what }
        this.count('tenant.crossed', caller.id, { by: caller, subject: tenant, failed: true, detail })
      },
      (err: unknown) =>
        writeLog(this.#log, 'error', { err, what }, 'Could not record a request for data of another tenant'),
    )
  }

  /** Writes the repeats so far. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    for (const [event, sources] of this.#sources) {
      for (const { parts, subjects, count, since, until } of sources.values()) {
        if (count === 0) continue
        const [subject, ...more] = subjects
        const detail = {
          ...parts.detail,
          until: new Date(until).toISOString(),
          ...(more.length > 0 && { subjects: [...subjects] }),
        }
        void this.#write(entryOf(event, { ...parts, subject, detail }, since, count))
      }
    }
    this.#sources.clear()
  }
}

function entryOf(event: EventName, parts: EventParts, at: number, count: number): EventEntry {
  const { by, tenant = INSTALLATION, subject, failed = false, detail, content } = parts
  const whole = { ...(by !== undefined && { by: by.name }), ...detail }
  return {
    at,
    tenant,
    caller: by?.id ?? null,
    source: by === undefined ? null : by.source === undefined ? 'rest' : by.source,
    event,
    subject: subject === undefined ? null : redactText(subject),
    detail: Object.keys(whole).length === 0 ? null : boundedJson(whole),
    params: content === undefined ? null : jsonText(content),
    failed,
    count,
  }
}

/** Null if a configuration from code can't be written as JSON. */
function jsonText(content: unknown): string | null {
  try {
    return JSON.stringify(content)
  } catch {
    return null
  }
}

/** What can be changed of a key. */
const KEY_FIELDS = [
  ...(['name', 'role', 'scopes', 'tools', 'models'] as const),
  ...(['calls_per_minute', 'budget', 'expires_at'] as const),
] as const

/** Changes keys and flags, and records each change. */
export class Access {
  readonly #keys: KeyStore
  readonly #settings: SettingStore
  readonly #events: AuditEvents

  constructor({ keys, settings }: { readonly keys: KeyStore; readonly settings: SettingStore }, events: AuditEvents) {
    this.#keys = keys
    this.#settings = settings
    this.#events = events
  }

  /** Returns false if the rule doesn't hold. */
  async createKey(key: StoredKey, by: Actor, rule?: KeyRule): Promise<boolean> {
    const { id, tenant, name, role, scopes, tools, models, calls_per_minute, budget, expires_at } = key
    const isNew = await this.#isNew(tenant)
    if (!(await this.#keys.create(key, rule))) return false
    if (isNew) await this.#events.record('tenant.created', { by, tenant, subject: tenant })
    const patterns = { ...(tools && { tools }), ...(models && { models }) }
    const detail = { name, role, scopes, ...patterns, calls_per_minute, ...(budget && { budget }), expires_at }
    await this.#events.record('key.created', { by, tenant, subject: id, detail })
    return true
  }

  /** Returns false if another change came first. A change that changes nothing isn't recorded. */
  async changeKey(before: StoredKey, after: StoredKey, by: Actor): Promise<boolean> {
    const changed = KEY_FIELDS.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    if (changed.length === 0) return true
    if (!(await this.#keys.change(before, after))) return false
    const fields = (key: StoredKey) => Object.fromEntries(changed.map((field) => [field, key[field] ?? null]))
    const detail = { name: after.name, old: fields(before), new: fields(after) }
    await this.#events.record('key.changed', { by, tenant: before.tenant, subject: before.id, detail })
    return true
  }

  /** Returns false if there is no such key. Revoking twice changes nothing. */
  async revokeKey(id: string, at: string, by: Actor): Promise<boolean> {
    const key = (await this.#keys.list()).find((one) => one.id === id)
    if (key === undefined) return false
    await this.#keys.revoke(id, at)
    const { tenant, name, revoked_at } = key
    if (revoked_at === null) await this.#events.record('key.revoked', { by, tenant, subject: id, detail: { name } })
    return true
  }

  /** Takes back that a key was revoked at this time or later. Returns false if it was not. */
  async restoreKey({ id, tenant, name }: StoredKey, since: string, by: Actor): Promise<boolean> {
    const restored = await this.#keys.restore(id, since)
    if (restored) await this.#events.record('key.restored', { by, tenant, subject: id, detail: { name } })
    return restored
  }

  /** Gives a key another secret. Returns false if it was rotated or revoked meanwhile. */
  async rotateKey(key: StoredKey, hash: string, until: string, by: Actor): Promise<boolean> {
    const { id, tenant, name } = key
    if (!(await this.#keys.rotate(key, hash, until))) return false
    await this.#events.record('key.rotated', { by, tenant, subject: id, detail: { name, former_until: until } })
    return true
  }

  /** Signs a user out everywhere: sessions end, and tokens that were issued before are refused. */
  async revokeUser(id: string, tenant: string, at: number, by: Actor): Promise<void> {
    const name = (await this.#keys.users()).find((user) => user.id === id)?.name
    await this.#keys.revokeUser({ id, tenant }, at)
    await this.#events.record('user.revoked', { by, tenant, subject: id, ...(name && { detail: { name } }) })
  }

  /** Changes stored flags of a tenant; null removes one. Returns all stored flags of the tenant. */
  async changeFlags(tenant: string, changes: ReadonlyMap<string, boolean | null>, by: Actor): Promise<Flags> {
    const isNew = await this.#isNew(tenant)
    const set = [...changes].filter((change): change is [string, boolean] => change[1] !== null)
    const { before, after } = await this.#replaceFlags(tenant, (flags) => {
      const unchanged = Object.entries(flags).filter(([flag]) => !changes.has(flag))
      return Object.fromEntries([...unchanged, ...set])
    })
    if (isNew && set.length > 0) await this.#events.record('tenant.created', { by, tenant, subject: tenant })
    for (const [flag, value] of changes) {
      const old = Object.hasOwn(before, flag) ? before[flag] : null
      if (old === value) continue
      const event = value === null ? 'flag.removed' : 'flag.set'
      await this.#events.record(event, { by, tenant, subject: flag, detail: { old, new: value } })
    }
    return after
  }

  /** Repeats the change if the flags were changed meanwhile. */
  async #replaceFlags(tenant: string, change: (before: Flags) => Flags): Promise<Record<'before' | 'after', Flags>> {
    for (;;) {
      const stored = (await this.#settings.list('tenant')).find(({ name }) => name === tenant)?.value
      const before = (stored as TenantConfig | undefined)?.flags ?? {}
      const after = change(before)
      const value = { flags: after }
      if (await this.#settings.replace({ kind: 'tenant', name: tenant, value }, stored)) return { before, after }
    }
  }

  /** Removes all stored flags of a tenant. Returns false if it has none. */
  async removeFlags(tenant: string, by: Actor): Promise<boolean> {
    const stored = (await storedFlags(this.#settings)).get(tenant)
    if (stored === undefined) return false
    await this.changeFlags(tenant, new Map(Object.keys(stored).map((flag) => [flag, null])), by)
    return true
  }

  /** Whether the tenant has never had a key, and has no flags. */
  async #isNew(tenant: string): Promise<boolean> {
    const [keys, flags] = await Promise.all([this.#keys.list(), storedFlags(this.#settings)])
    return !flags.has(tenant) && keys.every((key) => key.tenant !== tenant)
  }
}
