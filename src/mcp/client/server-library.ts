import { isDeepStrictEqual } from 'node:util'
import type {
  CompleteRequestParams,
  CompleteResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/client'
import { LRUCache } from 'lru-cache'
import type { CallContext } from '../../core/call-context.ts'
import { type Clock, within } from '../../core/clock.ts'
import { foreignText } from '../../core/json/json-depth.ts'
import { errorKind, type Log } from '../../core/log.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Library } from '../server/library.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { MayQuote } from '../stdio/stdio-transport.ts'
import { askServer, type FollowedResources } from './followed-resources.ts'
import { listAll } from './listed-tool.ts'
import type { McpConnection } from './mcp-connection.ts'
import { forwardingOf } from './server-settings.ts'
import { NamePrefixes, prefixed } from './tool-names.ts'

/** A list is asked for again after this time, and when the server says that it changed. */
const LIST_MS = 60_000
/** Callers wait this long for the list of a server, then get its last one. After that, nobody waits for it for a while. */
const WAIT_MS = 1_000
const SLOW_MS = 60_000
const MAX_ENTRIES = 1_000
const MAX_ENTRY_CHARACTERS = 16_384
const MAX_URI_CHARACTERS = 2_048
const MAX_COMPLETIONS = 100
const MAX_COMPLETION_CHARACTERS = 1_000
/** Lists that are stored as callers with the same servers see them. */
const MAX_VIEWS = 100

type List = 'resources' | 'resourceTemplates' | 'prompts'

const METHODS = {
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const satisfies Record<List, string>

interface CachedList {
  /** Resolves when the server has answered or failed. */
  read: Promise<void>
  isPending: boolean
  /** Callers got the last list because this one was not there in time. */
  isLate: boolean
  atMs: number
  /** What was listed last. A server that doesn't answer keeps its names. */
  last: readonly unknown[]
}

/** An entry of a server, and what clients call it. */
interface Named<Entry> {
  readonly connection: McpConnection
  readonly entry: Entry
  readonly name: string
}

/** The server of each resource or prompt, by the URI or name that the server gives it. */
type Owners = ReadonlyMap<unknown, McpConnection>

/** What clients are shown of lists, until one of them changes. */
interface NamedList {
  readonly lists: readonly (readonly unknown[])[]
  readonly named: readonly Named<unknown>[]
  readonly owners: Owners
  /** By the servers that a caller may use. */
  readonly views: LRUCache<string, readonly object[]>
}

interface LibraryParts {
  /** All servers, in the order of the configuration. */
  readonly connections: () => Iterable<McpConnection>
  readonly isUsable: (connection: McpConnection, context: CallContext) => boolean
  /** The names of all servers of the configuration, also those that can't be used. */
  readonly configured: readonly string[]
  readonly followed: FollowedResources
  readonly log: Log
  readonly clock: Clock
  readonly mayQuote?: MayQuote | undefined
}

/**
 * The resources and prompts of the servers. Names don't depend on the caller: a prompt or a resource whose name is taken has
 * that of its server before it. Of several servers, so have templates and resources that aren't listed.
 */
export class ServerLibrary implements Library {
  readonly #parts: LibraryParts
  readonly #lists = new Map<McpConnection, Map<List, CachedList>>()
  readonly #named = new Map<List, NamedList>()
  /** Until when nobody waits for the lists of a server. */
  readonly #slow = new Map<McpConnection, number>()
  readonly #prefixes = new Map<McpConnection, string>()
  readonly followed: FollowedResources
  readonly #listeners = new Set<(what: 'resources' | 'prompts') => void>()

  constructor(parts: LibraryParts) {
    this.#parts = parts
    this.followed = parts.followed
  }

  async listResources(context: CallContext = {}): Promise<readonly Resource[]> {
    return this.#view<Resource>(await this.#resources(), context, ({ entry, name }) => ({ ...entry, uri: name }))
  }

  async listResourceTemplates(context: CallContext = {}): Promise<readonly ResourceTemplateType[]> {
    const named = await this.#templates()
    return this.#view<ResourceTemplateType>(named, context, ({ entry, name }) => ({ ...entry, uriTemplate: name }))
  }

  async readResource(uri: string, context: CallContext = {}): Promise<ReadResourceResult | undefined> {
    const found = await this.#find(uri, context)
    if (found === undefined) return undefined
    const { connection, entry } = found
    try {
      const read = await askServer(connection, (client, signal) =>
        client.readResource({ uri: entry }, { signal, cacheMode: 'bypass' }),
      )
      const contents = read.contents.map((one) => ({
        ...one,
        uri: one.uri === entry ? uri : this.#outward(connection, one.uri),
      }))
      return { ...metaOf(read), contents }
    } catch (error) {
      if (await isAnswer(error)) return undefined
      throw error
    }
  }

  async listPrompts(context: CallContext = {}): Promise<readonly Prompt[]> {
    return this.#view<Prompt>(await this.#prompts(), context, ({ entry, name }) => ({ ...entry, name }))
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext = {},
  ): Promise<GetPromptResult | undefined> {
    const found = this.#entry<Prompt>(await this.#naming('prompts', name), context, name)
    if (found === undefined) return undefined
    const { connection, entry } = found
    const params = { name: entry.name, arguments: { ...args } }
    const prompt = await askServer(connection, (client, signal) => client.getPrompt(params, { signal }))
    const messages = prompt.messages.map((one) => ({ ...one, content: this.#block(connection, one.content) }))
    const { description } = prompt
    return { ...metaOf(prompt), ...(description !== undefined && { description }), messages }
  }

  async complete(params: CompleteRequestParams, context: CallContext = {}): Promise<CompleteResult | undefined> {
    const { ref, argument } = params
    const isPrompt = ref.type === 'ref/prompt'
    const name = isPrompt ? ref.name : ref.uri
    const list = await this.#naming(isPrompt ? 'prompts' : 'resourceTemplates', name)
    const found = this.#entry<Prompt | ResourceTemplateType>(list, context, name)
    if (found?.connection.capabilities?.completions === undefined) return found && NO_COMPLETIONS
    const own: CompleteRequestParams['ref'] = isPrompt
      ? { ...ref, name: (found.entry as Prompt).name }
      : { ...ref, uri: (found.entry as ResourceTemplateType).uriTemplate }
    const asked = { ref: own, argument, ...(params.context && { context: params.context }) }
    const { completion } = await askServer(found.connection, (client, signal) => client.complete(asked, { signal }))
    const { values, total, hasMore } = completion
    const short = values.filter((value) => value.length <= MAX_COMPLETION_CHARACTERS).slice(0, MAX_COMPLETIONS)
    return { completion: { values: short, ...(total !== undefined && { total }), hasMore: hasMore === true } }
  }

  async subscribe(uri: string, context: CallContext, listener: () => void): Promise<(() => void) | undefined> {
    const found = await this.#find(uri, context)
    if (found?.connection.capabilities?.resources?.subscribe !== true) return undefined
    return this.followed.add(found.connection, found.entry, context, listener)
  }

  onChange(listener: (what: 'resources' | 'prompts') => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Forgets the lists of a server that changed. */
  changed(connection: McpConnection, what: 'resources' | 'prompts'): void {
    const lists = this.#lists.get(connection)
    for (const list of what === 'prompts' ? (['prompts'] as const) : (['resources', 'resourceTemplates'] as const)) {
      const known = lists?.get(list)
      if (known !== undefined) known.atMs = Number.NEGATIVE_INFINITY
    }
    this.#tell(what)
  }

  /** Reads the lists of a new connection again. */
  connected(connection: McpConnection): void {
    this.#lists.delete(connection)
    this.#slow.delete(connection)
  }

  /** A result of a server with the URIs that clients use. */
  async outward(server: string, result: unknown): Promise<unknown> {
    if (!this.#areSeveral() || !isObject(result) || !Array.isArray(result.content)) return result
    const connection = [...this.#parts.connections()].find(({ settings }) => settings.name === server)
    const hasResources = result.content.some(
      (block) => isObject(block) && foreignText(block.type).startsWith('resource'),
    )
    if (connection === undefined || !hasResources) return result
    await this.#resources()
    return { ...result, content: result.content.map((block: unknown) => this.#block(connection, block)) }
  }

  #block<Block>(connection: McpConnection, block: Block): Block {
    if (!isObject(block)) return block
    const { type, uri, resource } = block as Readonly<Record<string, unknown>>
    if (type === 'resource_link' && typeof uri === 'string') return { ...block, uri: this.#outward(connection, uri) }
    if (type !== 'resource' || !isObject(resource) || typeof resource.uri !== 'string') return block
    return { ...block, resource: { ...resource, uri: this.#outward(connection, resource.uri) } }
  }

  /** By the lists that were read last. */
  #outward(connection: McpConnection, uri: string): string {
    if (!forwardingOf(connection.settings).resources || !this.#areSeveral() || /^https?:/i.test(uri)) return uri
    const owner = this.#named.get('resources')?.owners.get(uri)
    return owner === connection && !this.#isPrefixed(uri) ? uri : this.#prefixOf(connection) + uri
  }

  /** What a caller is shown of a list. Callers with the same servers get the same one. */
  #view<Entry extends object>(
    { named, views }: NamedList,
    context: CallContext,
    shown: (one: Named<Entry>) => Entry,
  ): readonly Entry[] {
    const usable = [...this.#parts.connections()].filter((connection) => this.#parts.isUsable(connection, context))
    const key = JSON.stringify(usable.map(({ settings }) => settings.name))
    const known = views.get(key)
    if (known !== undefined) return known as readonly Entry[]
    const set = new Set(usable)
    const view = (named as readonly Named<Entry>[]).filter(({ connection }) => set.has(connection)).map(shown)
    views.set(key, view)
    return view
  }

  #entry<Entry>({ named }: NamedList, context: CallContext, name: string): Named<Entry> | undefined {
    const found = (named as readonly Named<Entry>[]).find((one) => one.name === name)
    return found && this.#parts.isUsable(found.connection, context) ? found : undefined
  }

  /** The server of a URI, and the URI that it knows. */
  async #find(uri: string, context: CallContext): Promise<Omit<Named<string>, 'name'> | undefined> {
    if (uri.length > MAX_URI_CHARACTERS) return undefined
    const sharing = this.#sharing('resources')
    const named = this.#areSeveral() ? sharing.find((one) => uri.startsWith(this.#prefixOf(one))) : sharing[0]
    const listed =
      named === undefined ? (await this.#naming('resources', uri)).named.find(({ name }) => name === uri) : undefined
    const connection = named ?? listed?.connection
    if (connection === undefined || !this.#parts.isUsable(connection, context)) return undefined
    return { connection, entry: this.#areSeveral() && named ? uri.slice(this.#prefixOf(named).length) : uri }
  }

  /** The list that names an entry. If its server is known, no other one is asked. */
  async #naming(list: List, name: string): Promise<NamedList> {
    const known = this.#named.get(list)
    const owner = known?.named.find((one) => one.name === name)?.connection
    if (known !== undefined && owner !== undefined && known.lists.includes(await this.#list(owner, list))) return known
    if (list === 'prompts') return this.#prompts()
    return list === 'resources' ? this.#resources() : this.#templates()
  }

  #resources(): Promise<NamedList> {
    return this.#nameAll<Resource>('resources', (owners) => {
      const prefixes = this.#areSeveral() ? this.#sharing('resources').map((one) => this.#prefixOf(one)) : []
      return ({ connection, entry: { uri } }) => {
        if (typeof uri !== 'string' || uri.length > MAX_URI_CHARACTERS) return undefined
        const isFree = owners.get(uri) === connection && !prefixes.some((prefix) => uri.startsWith(prefix))
        return isFree ? uri : this.#prefixOf(connection) + uri
      }
    })
  }

  #templates(): Promise<NamedList> {
    return this.#nameAll<ResourceTemplateType>('resourceTemplates', () => {
      const areSeveral = this.#areSeveral()
      return ({ connection, entry: { uriTemplate } }) => {
        if (typeof uriTemplate !== 'string') return undefined
        return areSeveral ? this.#prefixOf(connection) + uriTemplate : uriTemplate
      }
    })
  }

  #prompts(): Promise<NamedList> {
    return this.#nameAll<Prompt>('prompts', (owners) => {
      const prefixes = new NamePrefixes(this.#parts.configured)
      return ({ connection, entry: { name } }) => {
        if (typeof name !== 'string') return undefined
        const server = connection.settings.name
        const reserved = prefixes.ownerOf(name)
        if (reserved === server || (reserved === undefined && owners.get(name) === connection)) return name
        const own = prefixed(server, name)
        return prefixes.ownerOf(own) === server ? own : undefined
      }
    })
  }

  /** Names the entries of all servers, once for each change of their lists. Names are unique. */
  async #nameAll<Entry>(
    list: List,
    naming: (owners: Owners) => (one: Omit<Named<Entry>, 'name'>) => string | undefined,
  ): Promise<NamedList> {
    const sharing = this.#sharing(whatOf(list))
    const lists = await Promise.all(sharing.map((connection) => this.#list(connection, list)))
    const known = this.#named.get(list)
    if (known?.lists.length === lists.length && known.lists.every((one, index) => one === lists[index])) return known
    const taken = new Set<string>()
    const owners = ownersOf(sharing, lists, known?.owners)
    const nameOf = naming(owners)
    const named = lists.flatMap((entries, index) =>
      entries.flatMap((each) => {
        const one = { connection: sharing[index] as McpConnection, entry: each as Entry }
        const name = nameOf(one)
        if (name === undefined || taken.has(name)) return []
        taken.add(name)
        return [{ ...one, name }]
      }),
    )
    const made: NamedList = { lists, named, owners, views: new LRUCache({ max: MAX_VIEWS }) }
    this.#named.set(list, made)
    return made
  }

  #sharing(what: 'resources' | 'prompts'): McpConnection[] {
    return [...this.#parts.connections()].filter(({ settings }) => forwardingOf(settings)[what])
  }

  /** A scheme of its own for each server: `files+file:///a`. Characters that no scheme has become hyphens. */
  #prefixOf(connection: McpConnection): string {
    if (this.#prefixes.size === 0) {
      const taken = new Set<string>()
      for (const one of this.#parts.connections()) {
        const name = one.settings.name.toLowerCase().replace(/[^a-z0-9.-]/g, '-')
        const scheme = /^[a-z]/.test(name) ? name : `mcp-${name}`
        let prefix = scheme
        for (let number = 2; taken.has(prefix); number++) prefix = `${scheme}-${number}`
        taken.add(prefix)
        this.#prefixes.set(one, `${prefix}+`)
      }
    }
    return this.#prefixes.get(connection) as string
  }

  /** By the configuration, so that URIs don't change when a server can't be reached. */
  #areSeveral(): boolean {
    return this.#sharing('resources').length > 1
  }

  #isPrefixed(uri: string): boolean {
    return this.#sharing('resources').some((connection) => uri.startsWith(this.#prefixOf(connection)))
  }

  async #list(connection: McpConnection, list: List): Promise<readonly unknown[]> {
    const { clock } = this.#parts
    const now = clock.now()
    const isSlow = now < (this.#slow.get(connection) ?? now)
    const known = this.#lists.get(connection)?.get(list)
    const isFresh = known !== undefined && (now - known.atMs < LIST_MS || (isSlow && known.isPending))
    if (!isFresh && connection.capabilities?.[whatOf(list)] === undefined) return known?.last ?? NONE
    const current = isFresh ? known : this.#ask(connection, list, known?.last ?? NONE)
    if (current.isPending && !isSlow) await within(WAIT_MS, current.read, clock)
    if (current.isPending) {
      current.isLate = true
      if (!isSlow) this.#slow.set(connection, clock.now() + SLOW_MS)
    }
    return current.last
  }

  #ask(connection: McpConnection, list: List, last: readonly unknown[]): CachedList {
    const { clock, log, mayQuote } = this.#parts
    const lists = this.#lists.get(connection) ?? new Map<List, CachedList>()
    this.#lists.set(connection, lists)
    const cached: CachedList = { read: DONE, isPending: true, isLate: false, atMs: clock.now(), last }
    lists.set(list, cached)
    cached.read = this.#read(connection, list).then(
      (entries) => {
        cached.isPending = false
        if (isDeepStrictEqual(entries, last)) return
        cached.last = entries
        if (cached.isLate && this.#lists.get(connection)?.get(list) === cached) this.#tell(whatOf(list))
      },
      (error: unknown) => {
        cached.isPending = false
        // A server that nobody waits for is not asked with every request.
        cached.atMs = cached.isLate ? clock.now() : Number.NEGATIVE_INFINITY
        const reason = mayQuote?.() === false ? errorKind(error) : String(error)
        log.debug({ server: connection.settings.name, list, reason }, 'MCP server did not answer a list request')
      },
    )
    return cached
  }

  #tell(what: 'resources' | 'prompts'): void {
    for (const listener of this.#listeners) listener(what)
  }

  async #read(connection: McpConnection, list: List): Promise<readonly unknown[]> {
    const { name: server } = connection.settings
    const cut = (problem: string) => this.#parts.log.warn({ server, list, problem }, 'MCP list cut')
    const listed = await askServer(connection, (client, signal) => listAll(client, METHODS[list], list, signal, cut))
    if (listed.length > MAX_ENTRIES) cut(`The server lists more than ${MAX_ENTRIES} entries: the rest was left out`)
    return listed
      .filter(isObject)
      .flatMap((entry) => {
        const { description } = entry
        const cleaned = typeof description === 'string' ? { ...entry, description: cleanText(description) } : entry
        return JSON.stringify(cleaned).length <= MAX_ENTRY_CHARACTERS ? [cleaned] : []
      })
      .slice(0, MAX_ENTRIES)
  }
}

/** A name belongs to the server that listed it first, until that server lists it no more: no other one can take it. */
function ownersOf(
  sharing: readonly McpConnection[],
  lists: readonly (readonly unknown[])[],
  before: Owners = new Map(),
): Owners {
  const listing = new Set(sharing.filter((_, index) => lists[index]?.length !== 0))
  // A server that can't be reached keeps its names.
  const owners = new Map([...before].filter(([, connection]) => !listing.has(connection)))
  for (const [index, entries] of lists.entries()) {
    const connection = sharing[index] as McpConnection
    for (const each of entries) {
      const { uri, name } = each as Partial<Resource>
      const key = uri ?? name
      if (!owners.has(key) || before.get(key) === connection) owners.set(key, connection)
    }
  }
  return owners
}

const whatOf = (list: List): 'resources' | 'prompts' => (list === 'prompts' ? 'prompts' : 'resources')

const DONE = Promise.resolve()

/** The same one for each server without a list, which thus never changes. */
const NONE: readonly unknown[] = []

/** Nothing else of an answer passes: a server must not say what only this one may say, such as that input is required. */
const metaOf = ({ _meta }: { readonly _meta?: Readonly<Record<string, unknown>> | undefined }) => _meta && { _meta }

const NO_COMPLETIONS: CompleteResult = { completion: { values: [], hasMore: false } }

async function isAnswer(error: unknown): Promise<boolean> {
  const { callFault } = await import('./open-client.ts')
  return callFault(error).kind === 'answered'
}
