import type { SettingStore } from '../core/storage/setting-store.ts'
import { type NameOwners, type ToolNames, withClaims } from '../mcp/client/tool-names.ts'

const SETTING = { kind: 'tool_names', name: 'mcp' } as const
/** Other servers of the installation claim names at the same time only when they start. */
const MAX_ATTEMPTS = 100

/** The names of MCP tools in the store, shared by all servers of an installation. */
export class StoredToolNames implements ToolNames {
  readonly #settings: SettingStore

  constructor(settings: SettingStore) {
    this.#settings = settings
  }

  async read(): Promise<NameOwners> {
    return new Map((await this.#stored()) ?? [])
  }

  async claim(wanted: NameOwners, configured: readonly string[]): Promise<NameOwners> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const stored = await this.#stored()
      const owners: NameOwners = new Map(stored ?? [])
      const claimed = withClaims(owners, wanted, configured)
      if (claimed === owners) return owners
      if (await this.#settings.replace({ ...SETTING, value: [...claimed] }, stored)) return claimed
    }
    throw new Error(`The names of MCP tools changed ${MAX_ATTEMPTS} times while they were claimed`)
  }

  async #stored(): Promise<readonly (readonly [string, string])[] | undefined> {
    const setting = (await this.#settings.list(SETTING.kind)).find(({ name }) => name === SETTING.name)
    return setting?.value as readonly (readonly [string, string])[] | undefined
  }
}
