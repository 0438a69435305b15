import type { SettingStore } from '../core/storage/setting-store.ts'
import type { PinStore } from '../mcp/client/pin-store.ts'

type Pins = Readonly<Record<string, string>>

/** Pins in the store, where all servers of an installation find them; those of before there was a store still hold. */
export class StoredPins implements PinStore {
  readonly #settings: SettingStore
  readonly #before: PinStore

  constructor(settings: SettingStore, before: PinStore) {
    this.#settings = settings
    this.#before = before
  }

  async read(server: string): Promise<Pins | undefined> {
    const stored = (await this.#settings.list('pin')).find(({ name }) => name === server)
    return stored === undefined ? this.#before.read(server) : (stored.value as Pins)
  }

  async write(server: string, pins: Pins): Promise<void> {
    await this.#settings.put({ kind: 'pin', name: server, value: pins })
  }
}
