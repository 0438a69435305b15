import type { Installation } from '../app/installation.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import { redactedTexts, redactText } from '../core/records/redact.ts'
import type { ItemKey, ListedItem } from '../core/storage/item-store.ts'
import {
  type AnswerOf,
  COUNT,
  given,
  ID_IN_PATH,
  list,
  type OperationCall,
  object,
  operation,
  REMOVED,
  TEXT,
} from './operation.ts'

const MAX_THREADS = 200
const MAX_BYTES = 500_000
const MAX_NAME = 200

const VERSION = { type: 'number', description: 'When it was stored, in milliseconds since 1970: its version.' }
const LISTED = { id: TEXT, name: TEXT, questions: COUNT, updated_at: VERSION }
const CONTENT = object(
  {
    settings: { type: 'object', additionalProperties: true },
    turns: { type: 'array', maxItems: 100, items: { type: 'object', additionalProperties: true } },
  },
  'The models and tools, and the questions with their answers, without parameters and results of calls.',
)

interface Content {
  readonly settings: object
  readonly turns: readonly object[]
}

interface ThreadBody {
  readonly name: string
  readonly before: number | null
  readonly content: Content
}

/** Answers say what was in results, so threads are stored if all results may be. */
const storesThreads = ({ payloads, config }: Installation): boolean =>
  payloads === 'all' && config.storage?.runs !== false

const keyOf = ({ tenant = LOCAL_TENANT, by }: OperationCall, id: string): ItemKey => ({
  ...{ tenant, kind: 'thread', owner: by.id, id },
})

/** The label is the number of questions. */
const listed = ({ id, name, label, updated_at }: Pick<ListedItem, 'id' | 'name' | 'label' | 'updated_at'>) => ({
  ...{ id, name, questions: Number(label), updated_at },
})

const THREADS = { scope: 'chat', tag: 'chat' } as const
const PATH = '/api/threads/:id'

const operations = {
  list: operation({
    ...{ id: 'threads.list', method: 'GET', path: '/api/threads', ...THREADS },
    summary: 'Lists your threads of the page Testing, the newest first',
    answer: object({
      stored: {
        type: 'boolean',
        description: 'Whether the server stores threads: only if `storage.payloads` is `all`.',
      },
      threads: list(LISTED),
    }),
    needs: 'installation',
    async run(host, _input, { tenant = LOCAL_TENANT, by }) {
      const asked = { tenant, kind: 'thread', owner: by.id, limit: MAX_THREADS } as const
      const rows = await host.storage.items.list(asked)
      return { stored: storesThreads(host), threads: rows.map(listed) }
    },
  }),
  get: operation({
    ...{ id: 'threads.get', method: 'GET', path: PATH, ...THREADS },
    summary: 'Returns one of your threads',
    params: { id: ID_IN_PATH },
    answer: object({ ...LISTED, content: CONTENT }),
    needs: 'store',
    async run({ storage }, { id }, call) {
      const item = found(await storage.items.get(keyOf(call, id)), 'Thread', id)
      return { ...listed(item), content: JSON.parse(item.content) as Content }
    },
  }),
  put: operation({
    ...{ id: 'threads.put', method: 'PUT', path: PATH, ...THREADS },
    summary: 'Stores one of your threads, without secrets',
    params: { id: ID_IN_PATH },
    body: given<ThreadBody>({
      type: 'object',
      required: ['name', 'before', 'content'],
      additionalProperties: false,
      properties: {
        name: { type: 'string', minLength: 1, maxLength: MAX_NAME },
        before: {
          type: ['number', 'null'],
          description: '`updated_at` of the thread that this one replaces; null for a new one. 409 if it has changed.',
        },
        content: { ...CONTENT, required: ['settings', 'turns'], additionalProperties: false },
      },
    }),
    answer: object(LISTED),
    needs: 'installation',
    async run(host, { id, name, before, content }, call) {
      if (!storesThreads(host)) {
        throw new OperationError('conflict', 'This server stores no threads', 'storage.payloads must be "all"')
      }
      const text = redactedTexts(content)
      if (Buffer.byteLength(text) > MAX_BYTES) {
        throw new OperationError('too_large', `The thread has more than ${MAX_BYTES} bytes`, 'start a new one')
      }
      const item = {
        ...keyOf(call, id),
        owner_name: call.by.name,
        subject: null,
        label: `${content.turns.length}`,
        name: redactText(name, MAX_NAME),
        content: text,
        updated_at: host.clock.wall(),
      }
      const most = { quota: host.tenants.quota(item.tenant), most: MAX_THREADS, before }
      if (await host.storage.items.put(item, most)) return listed(item)
      throw new OperationError('conflict', `Thread '${id}' was changed in another browser`, 'read it again')
    },
  }),
  remove: operation({
    ...{ id: 'threads.remove', method: 'DELETE', path: PATH, ...THREADS },
    summary: 'Removes one of your threads; its runs stay',
    params: { id: ID_IN_PATH },
    ...REMOVED,
    needs: 'store',
    async run({ storage }, { id }, call) {
      found((await storage.items.remove(keyOf(call, id))) || undefined, 'Thread', id)
    },
  }),
}

/** The conversations of the page Testing. Callers see their own only. */
export const threads = { operations }

/** A conversation of the page Testing, in a list. */
export type ListedThread = ReturnType<typeof listed>
export type StoredThread = AnswerOf<typeof operations.get>
export type ThreadsView = AnswerOf<typeof operations.list>
