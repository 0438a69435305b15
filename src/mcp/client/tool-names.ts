/** The servers that have had each plain name, the first one first. Of those in a configuration, the first one has it. */
export type NameOwners = ReadonlyMap<string, readonly string[]>

/** The server that each name is for. */
export type Wanted = ReadonlyMap<string, string>

/** Remembers which server was the first to list a tool name, also while the server is away. */
export interface ToolNames {
  read(): Promise<NameOwners>
  /** Gives names to servers, except those that another configured server has. Returns all owners. */
  claim(wanted: Wanted, configured: readonly string[]): Promise<NameOwners>
}

/** Undefined if no server of this configuration has the name. */
export const ownerOf = (owners: NameOwners, name: string, configured: readonly string[]): string | undefined =>
  owners.get(name)?.find((server) => configured.includes(server))

/**
 * The owners after a claim; the same map if nothing changes. A server that isn't configured keeps its place: it may be
 * configured on another server of the installation, where nobody may take its name.
 */
export function withClaims(owners: NameOwners, wanted: Wanted, configured: readonly string[]): NameOwners {
  const given = [...wanted].filter(([name]) => ownerOf(owners, name, configured) === undefined)
  if (given.length === 0) return owners
  return new Map([...owners, ...given.map(([name, server]) => [name, [...(owners.get(name) ?? []), server]] as const)])
}

/** For programs without a store: names are remembered until the process ends. */
export class MemoryToolNames implements ToolNames {
  #owners: NameOwners = new Map()

  async read(): Promise<NameOwners> {
    return this.#owners
  }

  async claim(wanted: Wanted, configured: readonly string[]): Promise<NameOwners> {
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
