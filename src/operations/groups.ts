import type { Scope } from '../config/roles.ts'
import { inputSchema } from './check-input.ts'
import { type AnyOperation, list, type NeededScope, type OperationGroup, object, operation, TEXT } from './operation.ts'

/** All operations, feature by feature. A face loads those that it needs. */
const GROUPS: Readonly<Record<string, () => Promise<OperationGroup>>> = {
  approvals: async () => (await import('./approvals.ts')).approvals,
  limits: async () => (await import('./limits.ts')).limits,
  metrics: async () => (await import('./metrics.ts')).metrics,
  costs: async () => (await import('./costs.ts')).costs,
  threads: async () => (await import('./threads.ts')).threads,
  ratings: async () => (await import('./ratings.ts')).ratings,
  views: async () => (await import('./views.ts')).views,
  versions: async () => (await import('./versions.ts')).versions,
  rollouts: async () => (await import('./versions.ts')).rollouts,
  objectives: async () => (await import('./objectives.ts')).objectives,
  connections: async () => (await import('./connections.ts')).connections,
  keys: async () => (await import('./keys.ts')).keys,
  secrets: async () => (await import('./secrets.ts')).secrets,
  tenants: async () => (await import('./tenants.ts')).tenants,
  users: async () => (await import('./users.ts')).users,
}

/** The operations of all features. */
export async function everyOperation(): Promise<AnyOperation[]> {
  const groups = await Promise.all(Object.values(GROUPS).map((load) => load()))
  return groups.flatMap(({ operations }) => Object.values(operations))
}

const isOpenTo = (needed: NeededScope | null, scopes: ReadonlySet<Scope>): boolean =>
  needed === null || [needed].flat().some((scope) => scopes.has(scope))

/** What callers can do besides calling tools. */
export const operationList = {
  operations: {
    list: operation({
      id: 'operations.list',
      method: 'GET',
      path: '/api/operations',
      scope: 'read',
      tag: 'status',
      summary: 'Lists the operations that you may call, each with the schema of its input',
      answer: object(
        {
          operations: list({
            id: { ...TEXT, description: 'Such as approvals.decide.' },
            method: TEXT,
            path: TEXT,
            scope: {
              type: ['string', 'array', 'null'],
              description: 'The scope that it needs, or several of which it needs one.',
            },
            summary: TEXT,
            input: { type: 'object', description: 'A JSON Schema of the fields of the path, the query and the body.' },
          }),
        },
        'The operations',
      ),
      needs: 'store',
      async run(_host, _input, { caller }) {
        const all = await everyOperation()
        const routed = all.filter(({ path }) => path !== undefined)
        const open = routed.filter(({ scope }) => caller === undefined || isOpenTo(scope, caller.scopes))
        return {
          operations: open.flatMap((one) => {
            const { id, method, path, scope, summary } = one
            return path === undefined ? [] : [{ id, method, path, scope, summary, input: inputSchema(one) }]
          }),
        }
      },
    }),
  },
}
