import type { SettingStore } from '../core/storage/setting-store.ts'
import { type NameOwners, type ToolNames, type Wanted, withClaims } from '../mcp/client/tool-names.ts'

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
    return ownersOf(await this.#stored())
  }

  async claim(wanted: Wanted, configured: readonly string[]): Promise<NameOwners> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const stored = await this.#stored()
      const owners = ownersOf(stored)
      const claimed = withClaims(owners, wanted, configured)
      if (claimed === owners) return owners
      if (
        await this.#settings.replace(
          { ...SETTING, value: [...claimed].map(([name, servers]) => [name, ...servers]) },
          stored,
        )
      )
        return claimed
    }
    throw new Error(`The names of MCP tools changed ${MAX_ATTEMPTS} times while they were claimed`)
  }

  async #stored(): Promise<readonly StoredName[] | undefined> {
    const setting = (await this.#settings.list(SETTING.kind)).find(({ name }) => name === SETTING.name)
    return setting?.value as readonly StoredName[] | undefined
  }
}

/** A name and its servers. */
type StoredName = readonly [name: string, ...servers: string[]]

const ownersOf = (stored: readonly StoredName[] = []): NameOwners =>
  new Map(stored.map(([name, ...servers]) => [name, servers]))
