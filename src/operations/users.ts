import { tenantOfUser } from '../app/callers/users.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import { revokeKey } from './keys.ts'
import { list, object, operation, type Shown, TEXT, TIME_OR_NULL } from './operation.ts'

/** A user of `GET /api/users`. */
export interface ShownUser {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly issued_at: string | null
  readonly revoked_at: string | null
}

const MAX_USER_ID = 330
const MAX_USERS = 1_000
/** Those who were signed out are never removed, and all servers read all users with every change of one. */
const MAX_SIGNED_OUT = 10_000

const timeOf = (ms: number | null) => (ms ? new Date(ms).toISOString() : null)

const operations = {
  list: operation({
    id: 'users.list',
    method: 'GET',
    path: '/api/users',
    scope: 'manage',
    tag: 'keys',
    summary: 'Lists the users of your tenant who have signed in within a day or were signed out',
    answer: object(
      {
        users: list({
          ...{ id: TEXT, name: TEXT, role: TEXT },
          issued_at: { ...TIME_OR_NULL, description: 'When the newest token or sign-in was issued.' },
          revoked_at: { ...TIME_OR_NULL, description: 'When an administrator signed the user out.' },
        }),
      },
      `At most ${MAX_USERS}, the newest first`,
    ),
    needs: 'store',
    async run({ storage }, _input, { tenant }) {
      const own = (await storage.keys.users()).filter((user) => tenant === undefined || user.tenant === tenant)
      const newest = own.sort((a, b) => b.issued_at - a.issued_at).slice(0, MAX_USERS)
      const users = newest.map(({ id, name, role, issued_at, revoked_at }): ShownUser => {
        return { id, name, role, issued_at: timeOf(issued_at), revoked_at: timeOf(revoked_at) }
      })
      return { users }
    },
  }),
  revoke: operation({
    id: 'users.revoke',
    method: 'POST',
    path: '/api/users/revoke',
    scope: 'manage',
    tag: 'keys',
    summary: 'Signs a user of your tenant out: sessions, tokens and running work end',
    description: 'Tokens that the issuer has issued before are refused. The user can sign in again after 30 seconds.',
    body: { id: { type: 'string', maxLength: MAX_USER_ID, examples: ['user:acme/ada'] } },
    required: ['id'],
    answer: { description: 'Signed out', type: 'null' },
    status: 204,
    needs: 'store',
    async run(host, { id }, call) {
      const { access, callers, clock, events, storage } = host
      const tenant = tenantOfUser(id)
      // The command takes keys, too.
      if (tenant === undefined && call.face === 'cli') return revokeKey(host, id, call)
      const isOwn = call.tenant === undefined || tenant === call.tenant
      if (!isOwn && call.caller !== undefined) events.crossed(call.caller, `user ${id}`, tenant)
      const own = found(isOwn ? tenant : undefined, 'User', id)
      const users = (await storage.keys.users()).filter((user) => user.tenant === own)
      const count = users.filter(({ revoked_at }) => revoked_at !== null).length
      // Users who are signed in can always be signed out.
      if (count >= MAX_SIGNED_OUT && !users.some((user) => user.id === id)) {
        const fix = `User '${id}' has not used the server within a day: try again when the user does`
        throw new OperationError('too_many', `Your tenant has signed out ${count} users, the maximum`, fix)
      }
      await access.revokeUser(id, own, clock.wall(), call.by)
      await callers?.load(storage.keys)
    },
    cli: {
      command: 'keys revoke',
      description: 'Revoke a key, or sign a user out',
      arguments: { id: 'the id that "keys list" shows, or user:<tenant>/<sub>' },
      ...{ thing: 'key with the id', hint: 'see "toolyard keys list"' },
      show: (_answer, { id }): Shown => ({ document: { id, revoked: true }, result: [`Revoked ${id}`] }),
    },
  }),
}

/** Users who have signed in at the issuer. */
export const users = { operations }
