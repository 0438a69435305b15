import {
  type CompleteRequestParams,
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
  type Server,
} from '@modelcontextprotocol/server'
import type { CallContext } from '../../core/call-context.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import type { Params } from '../../core/tool.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { cleanText } from '../stdio/clean-text.ts'
import type { ServedPart } from './served-part.ts'

/** Resources and prompts to serve, from the configured MCP servers. */
export interface Library {
  listResources(context: CallContext): Promise<readonly Resource[]>
  listResourceTemplates(context: CallContext): Promise<readonly ResourceTemplateType[]>
  /** Undefined if there is none with this URI. */
  readResource(uri: string, context: CallContext): Promise<ReadResourceResult | undefined>
  listPrompts(context: CallContext): Promise<readonly Prompt[]>
  /** Undefined if there is none with this name. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<GetPromptResult | undefined>
  /** Undefined if there is no such prompt or template. */
  complete?(params: CompleteRequestParams, context: CallContext): Promise<CompleteResult | undefined>
  /** Calls back when a resource changes, until the returned function is called. Undefined if nobody would tell. */
  subscribe?(uri: string, context: CallContext, listener: () => void): Promise<(() => void) | undefined>
  onChange?(listener: (what: 'resources' | 'prompts') => void): () => void
}

/** `..` or `.` between slashes, however they are encoded. */
const DOT_SEGMENT = /(?:[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%2f|%5c|$)/i

/** The prompts and resources of a part. What the caller may use is decided as if there were no parts. */
export function libraryOf(library: Library, { prompts = [], resources = [] }: ServedPart): Library {
  const whole = (context: CallContext): CallContext => ({ ...context, visible: undefined })
  const isPrompt = (name: string): boolean => matchesGlobs(prompts, name)
  // A pattern of a folder doesn't match what is beside it.
  const isResource = (uri: string): boolean => !DOT_SEGMENT.test(uri) && matchesGlobs(resources, uri)
  /** Each list is filtered once: it stays the same until it changes. */
  const keep = <Entry extends object>(isKept: (entry: Entry) => boolean) => {
    const known = new WeakMap<readonly Entry[], readonly Entry[]>()
    return (all: readonly Entry[]): readonly Entry[] => {
      const kept = known.get(all) ?? all.filter(isKept)
      known.set(all, kept)
      return kept
    }
  }
  const ownResources = keep<Resource>(({ uri }) => isResource(uri))
  const ownTemplates = keep<ResourceTemplateType>(({ uriTemplate }) => isResource(uriTemplate))
  const ownPrompts = keep<Prompt>(({ name }) => isPrompt(name))
  const { complete, subscribe, onChange } = library
  return {
    listResources: async (context) => ownResources(await library.listResources(whole(context))),
    listResourceTemplates: async (context) => ownTemplates(await library.listResourceTemplates(whole(context))),
    readResource: async (uri, context) => (isResource(uri) ? library.readResource(uri, whole(context)) : undefined),
    listPrompts: async (context) => ownPrompts(await library.listPrompts(whole(context))),
    getPrompt: async (name, args, context) =>
      isPrompt(name) ? library.getPrompt(name, args, whole(context)) : undefined,
    ...(complete && {
      complete: async (params, context) => {
        const { ref } = params
        const isServed = ref.type === 'ref/prompt' ? isPrompt(ref.name) : isResource(ref.uri)
        return isServed ? complete.call(library, params, whole(context)) : undefined
      },
    }),
    ...(subscribe && {
      subscribe: async (uri, context, listener) =>
        isResource(uri) ? subscribe.call(library, uri, whole(context), listener) : undefined,
    }),
    ...(onChange && { onChange: onChange.bind(library) }),
  }
}

/** Reads for a caller within its limits, and records it. */
type Access = <T>(name: string, params: Params, context: CallContext, read: () => Promise<T>) => Promise<T>

export interface LibraryHost {
  readonly library: Library
  readonly access: Access
  /** Counts a request that is not recorded against the limits of a caller. */
  readonly count: (context: CallContext) => Promise<void>
  readonly log: Log
}

/** Of one session, or one stream. */
export const MAX_SUBSCRIPTIONS = 100
const PAGE_SIZE = 100
const CURSOR_PREFIX = 'after:'

/** Adds the request handlers of a library to a connection. */
export function serveLibrary(
  methods: Server,
  { library, access, count, log }: LibraryHost,
  caller: { readonly context: CallContext },
): void {
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      // An error of the server behind, whose class is that of the client.
      if (ProtocolError.isInstance(error)) throw new ProtocolError(error.code, shortened(cleanText(error.message)))
      if (error instanceof ToolExecutionError && error.code !== 'EXECUTION_ERROR') {
        throw new ProtocolError(SERVER_ERROR, error.message, { error_code: error.code })
      }
      writeLog(log, 'warn', { err: error }, `${what} could not be read`)
      throw new ProtocolError(ProtocolErrorCode.InternalError, `${what} could not be read: its server failed`)
    }
  }
  const read = <T>(what: string, method: string, params: Params, work: () => Promise<T>): Promise<T> =>
    ask(what, () => access(`mcp ${method}`, params, { ...caller.context, source: 'mcp' }, work))

  const list = <Entry>(what: string, work: () => Promise<readonly Entry[]>): Promise<readonly Entry[]> =>
    ask(what, async () => {
      await count({ ...caller.context, source: 'mcp' })
      return work()
    })

  methods.setRequestHandler('resources/list', async ({ params }) => {
    const all = await list('The list of resources', () => library.listResources(caller.context))
    const { entries: resources, ...next } = pageOf(all, ({ uri }) => uri, params?.cursor)
    return { resources, ...next }
  })
  methods.setRequestHandler('resources/templates/list', async ({ params }) => {
    const all = await list('The list of templates', () => library.listResourceTemplates(caller.context))
    const { entries: resourceTemplates, ...next } = pageOf(all, ({ uriTemplate }) => uriTemplate, params?.cursor)
    return { resourceTemplates, ...next }
  })
  methods.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const what = `Resource '${shortened(uri)}'`
    return read(what, 'resources/read', { uri }, async () => {
      const found = await library.readResource(uri, caller.context)
      if (found === undefined) throw new ResourceNotFoundError(uri, `${what} not found`)
      return found
    })
  })
  methods.setRequestHandler('prompts/list', async ({ params }) => {
    const all = await list('The list of prompts', () => library.listPrompts(caller.context))
    const { entries: prompts, ...next } = pageOf(all, ({ name }) => name, params?.cursor)
    return { prompts, ...next }
  })
  methods.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }) => {
    const what = `Prompt '${shortened(name)}'`
    return read(what, 'prompts/get', { name, arguments: args }, async () => {
      const found = await library.getPrompt(name, args, caller.context)
      if (found === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${what} not found`)
      return found
    })
  })
  if (library.complete !== undefined) {
    methods.setRequestHandler('completion/complete', ({ params }) => {
      const { ref, argument } = params
      const what = `'${shortened(ref.type === 'ref/prompt' ? ref.name : ref.uri)}'`
      // Secrets are recognised by the names of their fields.
      const recorded = { ref, argument: { [argument.name]: argument.value } }
      return read(`The completion of ${what}`, 'completion/complete', recorded, async () => {
        const found = await library.complete?.(params, caller.context)
        if (found === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${what} not found`)
        return found
      })
    })
  }
  if (library.subscribe === undefined) return
  const subscriptions = new Subscriptions(library, (uri) => {
    methods.sendResourceUpdated({ uri }).catch((error: unknown) => {
      writeLog(log, 'debug', { err: error }, 'A change notification could not be sent')
    })
  })
  methods.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    const what = `Resource '${shortened(uri)}'`
    await read(what, 'resources/subscribe', { uri }, async () => {
      if (await subscriptions.add(uri, caller.context)) return null
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${what} can't be subscribed to`)
    })
    return {}
  })
  methods.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.delete(uri)
    return {}
  })
  const before = methods.onclose
  methods.onclose = () => {
    before?.()
    subscriptions.close()
  }
}

/** The resources that one session or stream follows. */
export class Subscriptions {
  readonly #library: Library
  readonly #tell: (uri: string) => void
  readonly #stops = new Map<string, Promise<(() => void) | undefined>>()
  #closed = false

  constructor(library: Library, tell: (uri: string) => void) {
    this.#library = library
    this.#tell = tell
  }

  /** False if the caller can't follow the resource, or follows too many. */
  async add(uri: string, context: CallContext): Promise<boolean> {
    if (this.#closed || (!this.#stops.has(uri) && this.#stops.size >= MAX_SUBSCRIPTIONS)) return false
    const stop = this.#stops.get(uri) ?? this.#library.subscribe?.(uri, context, () => this.#tell(uri))
    if (stop === undefined) return false
    this.#stops.set(uri, stop)
    try {
      if ((await stop) !== undefined) return true
      this.#stops.delete(uri)
      return false
    } catch (error) {
      this.#stops.delete(uri)
      throw error
    }
  }

  delete(uri: string): void {
    const stop = this.#stops.get(uri)
    this.#stops.delete(uri)
    stop?.then(
      (end) => end?.(),
      () => {},
    )
  }

  close(): void {
    this.#closed = true
    for (const uri of [...this.#stops.keys()]) this.delete(uri)
  }
}

/** For errors that are neither the client's nor ours, such as a limit. */
const SERVER_ERROR = -32_000

/** A cursor is the last key of its page. Keys are sorted, so a list that changes neither repeats nor skips an entry. */
function pageOf<Entry>(
  all: readonly Entry[],
  keyOf: (entry: Entry) => string,
  cursor: string | undefined,
): { readonly entries: Entry[]; readonly nextCursor?: string } {
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const sorted = (SORTED.get(all) ?? all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) as readonly Entry[]
  SORTED.set(all, sorted)
  const start = after === undefined ? 0 : sorted.findIndex((entry) => keyOf(entry) > after)
  const rest = start === -1 ? [] : sorted.slice(start)
  const entries = rest.slice(0, PAGE_SIZE)
  const last = entries.at(-1)
  return rest.length > PAGE_SIZE && last !== undefined ? { entries, nextCursor: writeCursor(keyOf(last)) } : { entries }
}

/** Lists stay the same until they change: they are sorted once. */
const SORTED = new WeakMap<readonly unknown[], readonly unknown[]>()

export const writeCursor = (name: string): string => Buffer.from(CURSOR_PREFIX + name).toString('base64url')

export function readCursor(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (text.startsWith(CURSOR_PREFIX)) return text.slice(CURSOR_PREFIX.length)
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'The cursor is not from this server: start again without one',
  )
}
