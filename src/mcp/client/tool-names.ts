/** The server that has each plain name. */
export type NameOwners = ReadonlyMap<string, string>

/** Remembers which server was the first to list a tool name, also while the server is away. */
export interface ToolNames {
  read(): Promise<NameOwners>
  /** Gives names to servers, except those that another configured server has. Returns all owners. */
  claim(wanted: NameOwners, configured: readonly string[]): Promise<NameOwners>
}

/** The owners after a claim; the same map if nothing changes. A server that isn't configured any more loses names. */
export function withClaims(owners: NameOwners, wanted: NameOwners, configured: readonly string[]): NameOwners {
  const given = [...wanted].filter(([name, server]) => {
    const owner = owners.get(name)
    return owner === undefined || (owner !== server && !configured.includes(owner))
  })
  return given.length === 0 ? owners : new Map([...owners, ...given])
}

/** For programs without a store: names are remembered until the process ends. */
export class MemoryToolNames implements ToolNames {
  #owners: NameOwners = new Map()

  async read(): Promise<NameOwners> {
    return this.#owners
  }

  async claim(wanted: NameOwners, configured: readonly string[]): Promise<NameOwners> {
    this.#owners = withClaims(this.#owners, wanted, configured)
    return this.#owners
  }
}

export const prefixed = (server: string, name: string): string => `${server}__${name}`

/** The prefixes of all configured servers, whether they are connected or not. */
export class NamePrefixes {
  readonly #prefixes: readonly { readonly server: string; readonly literal: string; readonly alike: string }[]

  constructor(servers: readonly string[]) {
    this.#prefixes = servers
      .map((server) => ({ server, literal: prefixed(server, ''), alike: identifier(prefixed(server, '')) }))
      .sort((one, other) => other.alike.length - one.alike.length)
  }

  /** The only server that may have a name. Of `a` and `a__b`, the name `a__b__x` belongs to the second. */
  ownerOf(name: string): string | undefined {
    const known = identifier(name)
    const [longest, ...others] = this.#prefixes.filter(({ alike }) => known.startsWith(alike))
    const equals = [longest, ...others.filter(({ alike }) => alike === longest?.alike)]
    return (equals.find((one) => one !== undefined && name.startsWith(one.literal)) ?? longest)?.server
  }
}

/** Equal for names that code, or the tools of a provider, could write alike. */
const identifier = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '_')
