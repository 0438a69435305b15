import { LOCAL_TENANT } from '../core/execution/call.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import { inPath, list, type OperationCall, object, operation, type Shown, TEXT, TIME_OR_NULL } from './operation.ts'

const CONNECTION = {
  provider: { ...TEXT, description: 'The entry under connections in the configuration.' },
  title: TEXT,
  status: {
    enum: ['connected', 'broken', 'none'],
    description: 'broken: the provider refused to renew the access, and the user has to connect again.',
  },
  scopes: { type: 'array', items: TEXT },
  user: { ...TEXT, description: 'The id of the user or the API key.' },
  connected_at: TIME_OR_NULL,
  renewed_at: TIME_OR_NULL,
}

/** Those of other users. */
function requireManager({ caller }: OperationCall): void {
  if (caller === undefined || caller.scopes.has('manage')) return
  throw new OperationError('forbidden', "The connections of others need the scope 'manage'")
}

const TENANT_OPTION = { tenant: { flags: '--tenant <id>', description: 'the tenant', default: LOCAL_TENANT } }
const HEAD = ['PROVIDER', 'USER', 'STATUS', 'SCOPES', 'CONNECTED', 'RENEWED']

const operations = {
  list: operation({
    id: 'connections.list',
    method: 'GET',
    path: '/api/connections',
    scope: 'call',
    tag: 'connections',
    summary: 'Lists your accounts at the configured providers',
    query: {
      all: { type: 'boolean', description: "The connections of all users of your tenant. Needs the scope 'manage'." },
    },
    answer: object({ connections: list(CONNECTION) }, 'The connections, without tokens'),
    needs: 'installation',
    async run({ connections }, { all = false }, call) {
      const { caller, tenant = LOCAL_TENANT } = call
      if (!all && caller !== undefined) return { connections: await connections.list(tenant, caller.id) }
      requireManager(call)
      return { connections: await connections.listAll(tenant) }
    },
    cli: {
      command: 'connections list',
      description: 'List the connections of a tenant',
      options: TENANT_OPTION,
      nothing: { connections: [] },
      show({ connections }, _input, { tenant }): Shown {
        if (connections.length === 0) return { notes: [`The tenant '${tenant}' has no connections.`] }
        const rows = connections.map(({ provider, user, status, scopes, connected_at, renewed_at }) => {
          return [provider, user, status, scopes.join(' '), connected_at ?? '', renewed_at ?? '']
        })
        return { table: [HEAD, ...rows] }
      },
    },
  }),
  revoke: operation({
    id: 'connections.revoke',
    method: 'DELETE',
    path: '/api/connections/:provider',
    scope: 'call',
    tag: 'connections',
    summary: 'Deletes an account and revokes its tokens at the provider',
    params: { provider: inPath(64) },
    query: {
      user: {
        type: 'string',
        minLength: 1,
        maxLength: 400,
        description: "Another user of your tenant. Needs 'manage'.",
      },
    },
    answer: object(
      { revoked: { type: 'boolean', description: 'Whether the provider has confirmed it.' } },
      'The account is deleted',
    ),
    needs: 'installation',
    async run({ connections }, { provider, user: asked }, call) {
      const { caller, by, tenant = LOCAL_TENANT } = call
      const user = asked ?? by.id
      if (user !== caller?.id) requireManager(call)
      return found(await connections.remove({ tenant, user, provider }, by), 'A connection to', provider)
    },
    cli: {
      command: 'connections revoke',
      description: 'Delete a connection, and revoke its tokens at the provider',
      arguments: { provider: 'the entry under "connections"' },
      options: {
        user: {
          ...{ flags: '--user <id>', description: 'the user or key that "connections list" shows', required: true },
        },
        ...TENANT_OPTION,
      },
      thing: ({ user }) => `connection of '${user}' to`,
      hint: 'see "toolyard connections list"',
      show: ({ revoked }, { provider, user }): Shown => ({
        result: [`Deleted the connection of ${user} to ${provider}.`],
        notes: revoked ? [] : ['The provider has not confirmed that the tokens are revoked.'],
      }),
    },
  }),
}

/** The accounts that users have connected at OAuth providers. */
export const connections = {
  operations,
  help: `
Users connect their accounts at the OAuth providers under "connections" in the configuration. Tokens are never shown.

Examples:
  $ toolyard connections list --tenant acme
  $ toolyard connections revoke github --tenant acme --user user:acme/ada`,
}
