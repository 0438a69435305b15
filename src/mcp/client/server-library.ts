import type {
  Client,
  CompleteRequestParams,
  CompleteResult,
  GetPromptResult,
  McpSubscription,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from '@modelcontextprotocol/client'
import type { CallContext } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { Library } from '../server/library.ts'
import { cleanText } from '../stdio/clean-text.ts'
import { listAll } from './listed-tool.ts'
import type { McpConnection } from './mcp-connection.ts'
import { forwardingOf } from './server-settings.ts'

const REQUEST_TIMEOUT_MS = 10_000
/** A list is asked for again after this time, and when the server says that it changed. */
const LIST_MS = 60_000
const MAX_ENTRIES = 1_000
const MAX_ENTRY_CHARACTERS = 16_384
const MAX_URI_CHARACTERS = 2_048
const MAX_COMPLETIONS = 100
const MAX_COMPLETION_CHARACTERS = 1_000
/** Resources of one server that clients follow, and those that the clients of one tenant follow first. */
const MAX_FOLLOWED = 1_000
const MAX_FOLLOWED_BY_TENANT = MAX_FOLLOWED / 2
/** Updates of a resource within this time are told once. */
const SETTLE_MS = 100

type List = 'resources' | 'resourceTemplates' | 'prompts'

const METHODS = {
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const satisfies Record<List, string>

interface CachedList {
  readonly entries: Promise<readonly unknown[]>
  readonly atMs: number
  /** What was listed last. A server that doesn't answer keeps its names. */
  last: readonly unknown[]
}

/** An entry of a server, and what clients call it. */
interface Named<Entry> {
  readonly connection: McpConnection
  readonly entry: Entry
  readonly name: string
}

/** A resource that clients follow. */
interface Followed {
  /** That of the first client. */
  readonly tenant: string | undefined
  readonly listeners: Set<() => void>
  subscription: Promise<McpSubscription | undefined>
  cancelTell: (() => void) | undefined
}

export interface LibraryParts {
  /** All servers, in the order of the configuration. */
  readonly connections: () => Iterable<McpConnection>
  readonly isUsable: (connection: McpConnection, context: CallContext) => boolean
  readonly log: Log
  readonly clock: Clock
}

/**
 * The resources and prompts of the servers. Names don't depend on the caller: a prompt or a resource whose name is taken has
 * that of its server before it. Of several servers, so have templates and resources that aren't listed.
 */
export class ServerLibrary implements Library {
  readonly #parts: LibraryParts
  readonly #lists = new Map<McpConnection, Map<List, CachedList>>()
  readonly #prefixes = new Map<McpConnection, string>()
  /** The server of each resource and prompt, by the name that the server gives it. */
  readonly #owners = { resources: new Map<string, McpConnection>(), prompts: new Map<string, McpConnection>() }
  readonly #followed = new Map<McpConnection, Map<string, Followed>>()
  readonly #listeners = new Set<(what: 'resources' | 'prompts') => void>()

  constructor(parts: LibraryParts) {
    this.#parts = parts
  }

  async listResources(context: CallContext = {}): Promise<readonly Resource[]> {
    return this.#visible(await this.#resources(), context).map(({ entry, name }) => ({ ...entry, uri: name }))
  }

  async listResourceTemplates(context: CallContext = {}): Promise<readonly ResourceTemplateType[]> {
    const visible = this.#visible(await this.#templates(), context)
    return visible.map(({ entry, name }) => ({ ...entry, uriTemplate: name }))
  }

  async readResource(uri: string, context: CallContext = {}): Promise<ReadResourceResult | undefined> {
    const found = await this.#find(uri, context)
    if (found === undefined) return undefined
    const { connection, entry } = found
    try {
      const read = await this.#ask(connection, (client, signal) =>
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
    return this.#visible(await this.#prompts(), context).map(({ entry, name }) => ({ ...entry, name }))
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext = {},
  ): Promise<GetPromptResult | undefined> {
    const found = this.#visible(await this.#prompts(), context).find((one) => one.name === name)
    if (found === undefined) return undefined
    const { connection, entry } = found
    const params = { name: entry.name, arguments: { ...args } }
    const prompt = await this.#ask(connection, (client, signal) => client.getPrompt(params, { signal }))
    const messages = prompt.messages.map((one) => ({ ...one, content: this.#block(connection, one.content) }))
    const { description } = prompt
    return { ...metaOf(prompt), ...(description !== undefined && { description }), messages }
  }

  async complete(params: CompleteRequestParams, context: CallContext = {}): Promise<CompleteResult | undefined> {
    const { ref, argument } = params
    const isPrompt = ref.type === 'ref/prompt'
    const named: readonly Named<Prompt | ResourceTemplateType>[] = isPrompt
      ? await this.#prompts()
      : await this.#templates()
    const name = isPrompt ? ref.name : ref.uri
    const found = this.#visible(named, context).find((one) => one.name === name)
    if (found?.connection.capabilities?.completions === undefined) return found && NO_COMPLETIONS
    const own: CompleteRequestParams['ref'] = isPrompt
      ? { ...ref, name: (found.entry as Prompt).name }
      : { ...ref, uri: (found.entry as ResourceTemplateType).uriTemplate }
    const asked = { ref: own, argument, ...(params.context && { context: params.context }) }
    const { completion } = await this.#ask(found.connection, (client, signal) => client.complete(asked, { signal }))
    const { values, total, hasMore } = completion
    const short = values.filter((value) => value.length <= MAX_COMPLETION_CHARACTERS).slice(0, MAX_COMPLETIONS)
    return { completion: { values: short, ...(total !== undefined && { total }), hasMore: hasMore === true } }
  }

  async subscribe(uri: string, context: CallContext, listener: () => void): Promise<(() => void) | undefined> {
    const found = await this.#find(uri, context)
    if (found?.connection.capabilities?.resources?.subscribe !== true) return undefined
    const { connection, entry } = found
    const all = this.#followed.get(connection) ?? new Map<string, Followed>()
    this.#followed.set(connection, all)
    const known = all.get(entry)
    if (known === undefined && !hasRoom(all, context.tenant)) return undefined
    const followed = known ?? {
      tenant: context.tenant,
      listeners: new Set(),
      subscription: this.#follow(connection, entry),
      cancelTell: undefined,
    }
    all.set(entry, followed)
    followed.listeners.add(listener)
    const stop = (): void => {
      if (!followed.listeners.delete(listener) || followed.listeners.size > 0) return
      all.delete(entry)
      followed.cancelTell?.()
      void this.#unfollow(connection, entry, followed).catch(() => {})
    }
    try {
      await followed.subscription
      return stop
    } catch (error) {
      stop()
      throw error
    }
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
      if (known !== undefined) lists?.set(list, { ...known, atMs: Number.NEGATIVE_INFINITY })
    }
    for (const listener of this.#listeners) listener(what)
  }

  /** Reads the lists of a new connection again, and follows what clients follow. */
  connected(connection: McpConnection): void {
    this.#lists.delete(connection)
    for (const [uri, followed] of this.#followed.get(connection) ?? []) {
      followed.subscription = this.#follow(connection, uri)
      followed.subscription.catch(() => {})
    }
  }

  updated(connection: McpConnection, uri: string): void {
    const followed = this.#followed.get(connection)?.get(uri)
    if (followed === undefined) return
    followed.cancelTell ??= this.#parts.clock.after(SETTLE_MS, () => {
      followed.cancelTell = undefined
      for (const listener of followed.listeners) listener()
    })
  }

  /** A result of a server with the URIs that clients use. */
  async outward(server: string, result: unknown): Promise<unknown> {
    if (!this.#areSeveral() || !isObject(result) || !Array.isArray(result.content)) return result
    const connection = [...this.#parts.connections()].find(({ settings }) => settings.name === server)
    const hasResources = result.content.some((block) => isObject(block) && String(block.type).startsWith('resource'))
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
    const isOwn = this.#owners.resources.get(uri) === connection
    return isOwn && !this.#isPrefixed(uri) ? uri : this.#prefixOf(connection) + uri
  }

  #visible<Entry>(named: readonly Named<Entry>[], context: CallContext): Named<Entry>[] {
    const sharing = [...new Set(named.map(({ connection }) => connection))]
    const usable = new Set(sharing.filter((connection) => this.#parts.isUsable(connection, context)))
    return named.filter(({ connection }) => usable.has(connection))
  }

  /** The server of a URI, and the URI that it knows. */
  async #find(uri: string, context: CallContext): Promise<Omit<Named<string>, 'name'> | undefined> {
    if (uri.length > MAX_URI_CHARACTERS) return undefined
    const sharing = this.#sharing('resources')
    const named = this.#areSeveral() ? sharing.find((one) => uri.startsWith(this.#prefixOf(one))) : sharing[0]
    const listed = named === undefined ? (await this.#resources()).find(({ name }) => name === uri) : undefined
    const connection = named ?? listed?.connection
    if (connection === undefined || !this.#parts.isUsable(connection, context)) return undefined
    return { connection, entry: this.#areSeveral() && named ? uri.slice(this.#prefixOf(named).length) : uri }
  }

  async #resources(): Promise<Named<Resource>[]> {
    const taken = new Set<string>()
    const all = await this.#all<Resource>('resources')
    const owners = this.#own('resources', all, ({ uri }) => uri)
    return all.flatMap(({ connection, entry }) => {
      const { uri } = entry
      if (typeof uri !== 'string' || uri.length > MAX_URI_CHARACTERS) return []
      const isOwn = owners.get(uri) === connection && !taken.has(uri)
      const isFree = isOwn && !(this.#areSeveral() && this.#isPrefixed(uri))
      const name = isFree ? uri : this.#prefixOf(connection) + uri
      if (taken.has(name)) return []
      taken.add(name)
      return [{ connection, entry, name }]
    })
  }

  async #templates(): Promise<Named<ResourceTemplateType>[]> {
    const all = await this.#all<ResourceTemplateType>('resourceTemplates')
    return all
      .filter(({ entry }) => typeof entry.uriTemplate === 'string')
      .map(({ connection, entry }) => {
        const prefix = this.#areSeveral() ? this.#prefixOf(connection) : ''
        return { connection, entry, name: prefix + entry.uriTemplate }
      })
  }

  async #prompts(): Promise<Named<Prompt>[]> {
    const taken = new Set<string>()
    const all = await this.#all<Prompt>('prompts')
    const owners = this.#own('prompts', all, ({ name }) => name)
    const others = this.#sharing('prompts').map((one) => ({ one, prefix: `${one.settings.name}__` }))
    return all.flatMap(({ connection, entry }) => {
      if (typeof entry.name !== 'string') return []
      const isForeign = others.some(({ one, prefix }) => one !== connection && entry.name.startsWith(prefix))
      const isOwn = owners.get(entry.name) === connection && !taken.has(entry.name)
      const name = isOwn && !isForeign ? entry.name : `${connection.settings.name}__${entry.name}`
      if (taken.has(name)) return []
      taken.add(name)
      return [{ connection, entry, name }]
    })
  }

  /** A name belongs to the server that listed it first, until that server lists it no more: no other one can take it. */
  #own<Entry>(
    list: 'resources' | 'prompts',
    all: readonly Omit<Named<Entry>, 'name'>[],
    nameOf: (entry: Entry) => string,
  ): ReadonlyMap<string, McpConnection> {
    const before = this.#owners[list]
    const listing = new Set(all.map(({ connection }) => connection))
    // A server that can't be reached keeps its names.
    const owners = new Map([...before].filter(([, connection]) => !listing.has(connection)))
    for (const { connection, entry } of all) {
      const name = nameOf(entry)
      if (!owners.has(name) || before.get(name) === connection) owners.set(name, connection)
    }
    this.#owners[list] = owners
    return owners
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

  async #all<Entry>(list: List): Promise<Omit<Named<Entry>, 'name'>[]> {
    const sharing = this.#sharing(list === 'prompts' ? 'prompts' : 'resources')
    const lists = await Promise.all(
      sharing.map(async (connection) =>
        (await this.#list(connection, list)).map((entry) => ({ connection, entry: entry as Entry })),
      ),
    )
    return lists.flat()
  }

  #list(connection: McpConnection, list: List): Promise<readonly unknown[]> {
    const lists = this.#lists.get(connection) ?? new Map<List, CachedList>()
    this.#lists.set(connection, lists)
    const known = lists.get(list)
    const now = this.#parts.clock.now()
    if (known !== undefined && now - known.atMs < LIST_MS) return known.entries
    if (connection.capabilities?.[list === 'prompts' ? 'prompts' : 'resources'] === undefined) {
      return Promise.resolve(known?.last ?? [])
    }
    const cached: CachedList = { entries: this.#read(connection, list), atMs: now, last: known?.last ?? [] }
    lists.set(list, cached)
    return cached.entries.then(
      (entries) => {
        cached.last = entries
        return entries
      },
      (error: unknown) => {
        if (lists.get(list) === cached) lists.set(list, { ...cached, atMs: Number.NEGATIVE_INFINITY })
        const fields = { server: connection.settings.name, list, reason: String(error) }
        this.#parts.log.debug(fields, 'MCP server did not answer a list request')
        return cached.last
      },
    )
  }

  async #read(connection: McpConnection, list: List): Promise<readonly unknown[]> {
    const listed = await this.#ask(connection, (client, signal) => listAll(client, METHODS[list], list, signal))
    return listed
      .filter(isObject)
      .flatMap((entry) => {
        const { description } = entry
        const cleaned = typeof description === 'string' ? { ...entry, description: cleanText(description) } : entry
        return JSON.stringify(cleaned).length <= MAX_ENTRY_CHARACTERS ? [cleaned] : []
      })
      .slice(0, MAX_ENTRIES)
  }

  #follow(connection: McpConnection, uri: string): Promise<McpSubscription | undefined> {
    return this.#ask(connection, async (client, signal) => {
      if (client.getProtocolEra() !== 'legacy')
        return client.listen({ resourceSubscriptions: [uri] }, { timeout: REQUEST_TIMEOUT_MS })
      await client.subscribeResource({ uri }, { signal })
      return undefined
    })
  }

  async #unfollow(connection: McpConnection, uri: string, { subscription }: Followed): Promise<void> {
    const listening = await subscription
    if (listening !== undefined) return listening.close()
    if (connection.connected)
      await this.#ask(connection, (client, signal) => client.unsubscribeResource({ uri }, { signal }))
  }

  async #ask<T>(connection: McpConnection, ask: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    return ask(await connection.client(signal), signal)
  }
}

/** Nothing else of an answer passes: a server must not say what only this one may say, such as that input is required. */
const metaOf = ({ _meta }: { readonly _meta?: Readonly<Record<string, unknown>> | undefined }) => _meta && { _meta }

const hasRoom = (all: ReadonlyMap<string, Followed>, tenant: string | undefined): boolean =>
  all.size < MAX_FOLLOWED && [...all.values()].filter((one) => one.tenant === tenant).length < MAX_FOLLOWED_BY_TENANT

const NO_COMPLETIONS: CompleteResult = { completion: { values: [], hasMore: false } }

async function isAnswer(error: unknown): Promise<boolean> {
  const { callFault } = await import('./open-client.ts')
  return callFault(error).kind === 'answered'
}
