import { LOCAL_TENANT } from '../core/execution/call.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import type { ListedItem } from '../core/storage/item-store.ts'
import { ID_IN_PATH, list, type OperationCall, object, operation, REMOVED, TEXT } from './operation.ts'

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

interface Content {
  readonly address: string
  readonly pinned: boolean
}

/** An address of the page Activity with its filters, under a name. */
export type SavedView = ReturnType<typeof viewOf>

function viewOf({ id, owner, owner_name, label, name, content }: ListedItem, { by }: OperationCall) {
  const { address, pinned } = JSON.parse(content) as Content
  return { id, name, address, shared: label === SHARED, pinned, owner, by: owner_name, own: owner === by.id }
}

const keyOf = ({ tenant = LOCAL_TENANT }: OperationCall, owner: string, id: string) =>
  ({ tenant, kind: 'view', owner, id }) as const

const VIEWS = { scope: 'observe', tag: 'audit' } as const
const PATH = '/api/views/:id'

/** Addresses of the page Activity with their filters, under a name. */
export const views = {
  operations: {
    list: operation({
      ...{ id: 'views.list', method: 'GET', path: '/api/views', ...VIEWS },
      summary: 'Lists your saved views, and those that your tenant shares',
      answer: object({ views: list(VIEW) }),
      needs: 'store',
      async run({ storage }, _input, call) {
        const { tenant = LOCAL_TENANT, by } = call
        const asked = { tenant, kind: 'view', owner: by.id, orLabel: SHARED, limit: MAX_LISTED } as const
        const rows = await storage.items.list(asked)
        const named = rows.map((row) => viewOf(row, call))
        return { views: named.sort((one, other) => one.name.localeCompare(other.name)) }
      },
    }),
    put: operation({
      ...{ id: 'views.put', method: 'PUT', path: PATH, ...VIEWS },
      summary: 'Stores or changes one of your saved views',
      params: { id: ID_IN_PATH },
      body: {
        name: { type: 'string', pattern: '\\S', maxLength: 100 },
        address: { type: 'string', maxLength: 2_000, pattern: '^/activity(/[\\w-]+)?(\\?[^\\s#\\\\]*)?$' },
        shared: { type: 'boolean' },
        pinned: { type: 'boolean' },
      },
      required: ['name', 'address', 'shared', 'pinned'],
      answer: object(VIEW),
      needs: 'installation',
      async run({ storage, clock, tenants }, { id, name, address, shared, pinned }, call) {
        const item = {
          ...keyOf(call, call.by.id, id),
          owner_name: call.by.name,
          subject: null,
          label: shared ? SHARED : null,
          name: name.trim(),
          content: JSON.stringify({ address, pinned } satisfies Content),
          updated_at: clock.wall(),
        }
        const most = { quota: tenants.quota(item.tenant), most: MAX_VIEWS, refuse: true }
        if (await storage.items.put(item, most)) return viewOf({ ...item, created_at: item.updated_at }, call)
        const message = `You have ${MAX_VIEWS} saved views, the most that are allowed`
        throw new OperationError('conflict', message, 'delete one')
      },
    }),
    remove: operation({
      ...{ id: 'views.remove', method: 'DELETE', path: PATH, ...VIEWS },
      summary: "Removes one of your saved views; with the scope `manage`, also another user's shared one",
      params: { id: ID_IN_PATH },
      query: { owner: { type: 'string', minLength: 1, maxLength: 400 } },
      ...REMOVED,
      needs: 'store',
      async run({ storage: { items } }, { id, owner: named }, call) {
        const { caller, by } = call
        const owner = named ?? by.id
        const key = keyOf(call, owner, id)
        const view = await items.get(key)
        const isSeen = view !== undefined && (owner === by.id || view.label === SHARED)
        found(isSeen || undefined, 'View', id)
        if (owner !== by.id && caller?.scopes.has('manage') === false) {
          throw new OperationError('forbidden', "Removing the view of another user needs the scope 'manage'")
        }
        await items.remove(key)
      },
    }),
  },
}
