import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../app/callers/callers.ts'
import type { ListedItem } from '../../core/storage/item-store.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { exactly, JOB_ID, list, object, route, TEXT } from '../http/route.ts'
import type { SavedView } from '../http/views.ts'

const SHARED = 'shared'
const MAX_VIEWS = 100
const MAX_LISTED = 1_000

const VIEW = {
  id: TEXT,
  name: TEXT,
  address: { type: 'string', description: 'A path of the web UI with its filters.' },
  shared: { type: 'boolean', description: 'Whether all of the tenant see it.' },
  pinned: { type: 'boolean', description: 'Whether the page Views shows its figures.' },
  owner: { type: 'string', description: 'The id of the key or the user.' },
  by: { type: 'string', description: 'The name of the key or the user.' },
  own: { type: 'boolean', description: 'Whether it is yours.' },
}

interface OneView {
  Params: { id: string }
}

type ViewBody = Pick<SavedView, 'name' | 'address' | 'shared' | 'pinned'>

/** Addresses of the page Activity with their filters, under a name. */
export function viewRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { items } = installation.storage
  const keyOf = ({ tenant }: Caller, owner: string, id: string) => ({ tenant, kind: 'view', owner, id }) as const

  app.get(
    '/api/views',
    route('observe', 'audit', 'Lists your saved views, and those that your tenant shares', {
      response: { 200: object({ views: list(VIEW) }) },
    }),
    async ({ caller }) => {
      const { tenant, id: owner } = caller
      const rows = await items.list({ tenant, kind: 'view', owner, orLabel: SHARED, limit: MAX_LISTED })
      return { views: rows.map((row) => viewOf(row, caller)).sort(byName) }
    },
  )

  app.put<OneView & { Body: ViewBody }>(
    '/api/views/:id',
    route('observe', 'audit', 'Stores or changes one of your saved views', {
      params: JOB_ID,
      body: {
        ...exactly({
          name: { type: 'string', pattern: '\\S', maxLength: 100 },
          address: { type: 'string', maxLength: 2_000, pattern: '^/activity(/[\\w-]+)?(\\?[^\\s#\\\\]*)?$' },
          shared: { type: 'boolean' },
          pinned: { type: 'boolean' },
        }),
        required: ['name', 'address', 'shared', 'pinned'],
      },
      response: { 200: object(VIEW) },
    }),
    async ({ caller, params: { id }, body: { name, address, shared, pinned } }): Promise<SavedView> => {
      const item = {
        ...keyOf(caller, caller.id, id),
        owner_name: caller.name,
        subject: null,
        label: shared ? SHARED : null,
        name: name.trim(),
        content: JSON.stringify({ address, pinned }),
        updated_at: installation.clock.wall(),
      }
      const quota = installation.tenants.quota(caller.tenant)
      if (!(await items.put(item, { quota, most: MAX_VIEWS, refuse: true }))) {
        throw new HttpProblem(409, `You have ${MAX_VIEWS} saved views, the most that are allowed`, 'delete one')
      }
      return viewOf({ ...item, created_at: item.updated_at }, caller)
    },
  )

  app.delete<OneView & { Querystring: { owner?: string } }>(
    '/api/views/:id',
    route(
      'observe',
      'audit',
      "Removes one of your saved views; with the scope `manage`, also another user's shared one",
      {
        params: JOB_ID,
        querystring: exactly({ owner: { type: 'string', minLength: 1, maxLength: 400 } }),
        response: { 204: { description: 'Removed', type: 'null' } },
      },
    ),
    async ({ caller, params: { id }, query: { owner = caller.id } }, reply) => {
      const key = keyOf(caller, owner, id)
      const view = await items.get(key)
      const isSeen = view !== undefined && (owner === caller.id || view.label === SHARED)
      found(isSeen || undefined, `View '${id}'`)
      if (owner !== caller.id && !caller.scopes.has('manage')) {
        throw new HttpProblem(403, "Removing the view of another user needs the scope 'manage'")
      }
      await items.remove(key)
      return reply.code(204).send()
    },
  )
}

const byName = (one: SavedView, other: SavedView): number => one.name.localeCompare(other.name)

function viewOf({ id, owner, owner_name, label, name, content }: ListedItem, caller: Caller): SavedView {
  const { address, pinned } = JSON.parse(content) as Pick<SavedView, 'address' | 'pinned'>
  return { id, name, address, shared: label === SHARED, pinned, owner, by: owner_name, own: owner === caller.id }
}
