import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import { redactedTexts, redactText } from '../../core/records/redact.ts'
import type { ItemKey } from '../../core/storage/item-store.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, JOB_ID, list, object, route, TEXT } from '../http/route.ts'
import type { ListedThread, StoredThread, ThreadsView } from '../http/views.ts'

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

/** Answers say what was in results, so threads are stored if all results may be. */
const storedThreads = ({ payloads, config }: Installation): boolean =>
  payloads === 'all' && config.storage?.runs !== false

interface OneThread {
  Params: { id: string }
}

interface ThreadBody {
  readonly name: string
  readonly before: number | null
  readonly content: { readonly settings: object; readonly turns: readonly object[] }
}

/** The conversations of the page Testing. Callers see their own only. */
export function threadRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { items } = installation.storage
  const keyOf = ({ tenant, id: owner }: Caller, id: string): ItemKey => ({ tenant, kind: 'thread', owner, id })

  app.get(
    '/api/threads',
    route('chat', 'chat', 'Lists your threads of the page Testing, the newest first', {
      response: {
        200: object({
          stored: {
            type: 'boolean',
            description: 'Whether the server stores threads: only if `storage.payloads` is `all`.',
          },
          threads: list(LISTED),
        }),
      },
    }),
    async ({ caller: { tenant, id: owner } }): Promise<ThreadsView> => {
      const rows = await items.list({ tenant, kind: 'thread', owner, limit: MAX_THREADS })
      return { stored: storedThreads(installation), threads: rows.map(listed) }
    },
  )

  app.get<OneThread>(
    '/api/threads/:id',
    route('chat', 'chat', 'Returns one of your threads', {
      params: JOB_ID,
      response: { 200: object({ ...LISTED, content: CONTENT }) },
    }),
    async ({ caller, params: { id } }): Promise<StoredThread> => {
      const item = found(await items.get(keyOf(caller, id)), `Thread '${id}'`)
      return { ...listed(item), content: JSON.parse(item.content) }
    },
  )

  app.put<OneThread & { Body: ThreadBody }>(
    '/api/threads/:id',
    route('chat', 'chat', 'Stores one of your threads, without secrets', {
      params: JOB_ID,
      body: {
        type: 'object',
        required: ['name', 'before', 'content'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', minLength: 1, maxLength: MAX_NAME },
          before: {
            type: ['number', 'null'],
            description:
              '`updated_at` of the thread that this one replaces; null for a new one. 409 if it has changed.',
          },
          content: { ...CONTENT, required: ['settings', 'turns'], additionalProperties: false },
        },
      },
      response: { 200: object(LISTED) },
    }),
    async ({ caller, params: { id }, body: { name, before, content } }): Promise<ListedThread> => {
      if (!storedThreads(installation)) {
        throw new HttpProblem(409, 'This server stores no threads', 'storage.payloads must be "all"')
      }
      const text = redactedTexts(content)
      if (Buffer.byteLength(text) > MAX_BYTES) {
        throw new HttpProblem(413, `The thread has more than ${MAX_BYTES} bytes`, 'start a new one')
      }
      const item = {
        ...keyOf(caller, id),
        owner_name: caller.name,
        subject: null,
        label: `${content.turns.length}`,
        name: redactText(name, MAX_NAME),
        content: text,
        updated_at: installation.clock.wall(),
      }
      const quota = installation.tenants.quota(caller.tenant)
      if (!(await items.put(item, { quota, most: MAX_THREADS, before }))) {
        throw new HttpProblem(409, `Thread '${id}' was changed in another browser`, 'read it again')
      }
      return listed(item)
    },
  )

  app.delete<OneThread>(
    '/api/threads/:id',
    route('chat', 'chat', 'Removes one of your threads; its runs stay', {
      params: JOB_ID,
      response: { 204: { description: 'Removed', type: 'null' } },
    }),
    async ({ caller, params: { id } }, reply) => {
      found((await items.remove(keyOf(caller, id))) || undefined, `Thread '${id}'`)
      return reply.code(204).send()
    },
  )
}

interface Row {
  readonly id: string
  readonly name: string
  /** The number of questions. */
  readonly label: string | null
  readonly updated_at: number
}

const listed = ({ id, name, label, updated_at }: Row): ListedThread => ({
  id,
  name,
  questions: Number(label),
  updated_at,
})
