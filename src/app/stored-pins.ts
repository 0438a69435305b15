import type { SettingStore } from '../core/storage/setting-store.ts'
import type { PinStore } from '../mcp/client/pinned-tools.ts'
import type { Actor, AuditEvents } from './callers/audit-events.ts'

type Pins = Readonly<Record<string, string>>

/** Pins in the store, shared by all servers of an installation. Pins in the older file still count. */
export class StoredPins implements PinStore {
  readonly #settings: SettingStore
  readonly #file: PinStore
  readonly #events: AuditEvents

  constructor(settings: SettingStore, file: PinStore, events: AuditEvents) {
    this.#settings = settings
    this.#file = file
    this.#events = events
  }

  async read(server: string): Promise<Pins | undefined> {
    const stored = (await this.#settings.list('pin')).find(({ name }) => name === server)
    return stored === undefined ? this.#file.read(server) : (stored.value as Pins)
  }

  async write(server: string, pins: Pins, by?: Actor): Promise<void> {
    await this.#settings.put({ kind: 'pin', name: server, value: pins })
    const detail = { tools: Object.keys(pins).length }
    await this.#events.record('mcp.pinned', { by, subject: server, content: pins, detail })
  }
}
