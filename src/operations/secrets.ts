import { MAX_SECRET_CHARACTERS, NO_SECRETS_KEY, secretProblem } from '../app/secrets.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import { inPath, list, type OperationCall, object, operation, type Shown, type StoreHost, TEXT } from './operation.ts'

const VALUE = { type: 'string', maxLength: MAX_SECRET_CHARACTERS } as const

interface NewSecret {
  readonly name: string
  readonly value: string
}

function checkSecret({ name, value }: NewSecret): void {
  const problem = secretProblem(name, value)
  if (problem !== undefined) throw new OperationError('unprocessable', problem)
}

/** A secret can be the address of a server, or a part of it. */
async function checkPlace(host: StoreHost, { name, value }: NewSecret, call: OperationCall): Promise<void> {
  if (!host.secrets.enabled) throw new OperationError('unprocessable', NO_SECRETS_KEY)
  if (call.caller === undefined || call.keyless !== undefined) return
  const { checkAddresses, newAddresses, secretEnvironment } = await import('../app/setup/test-servers.ts')
  const config = await host.currentConfig()
  await checkAddresses(await newAddresses(host, config, config, secretEnvironment([{ name, value }])), config)
}

const operations = {
  list: operation({
    id: 'secrets.list',
    scope: 'installation',
    tag: 'setup',
    summary: 'Lists the names of the secrets',
    answer: object({ secrets: list({ name: TEXT }) }, 'The secrets, without their values'),
    needs: 'store',
    run: async ({ secrets }) => ({ secrets: (await secrets.names()).map((name) => ({ name })) }),
    cli: {
      command: 'secrets list',
      description: 'List the names of the secrets',
      nothing: { secrets: [] },
      show: ({ secrets }): Shown =>
        secrets.length === 0 ? { notes: ['There are no secrets.'] } : { result: secrets.map(({ name }) => name) },
    },
  }),
  add: operation({
    id: 'secrets.add',
    method: 'POST',
    path: '/api/setup/secrets',
    scope: 'installation',
    tag: 'setup',
    summary: 'Stores a secret. No response contains its value',
    body: { name: { type: 'string', minLength: 1, maxLength: 64 }, value: VALUE },
    required: ['name', 'value'],
    answer: object({ name: TEXT }),
    status: 201,
    needs: 'store',
    check: (_host, secret) => checkSecret(secret),
    run: (host, { name, value }, call) =>
      host.changes.add(async () => {
        await checkPlace(host, { name, value }, call)
        if (await host.secrets.set(name, value, call.by, { fresh: true })) return { name }
        throw new OperationError(
          'conflict',
          `There is already a secret ${name}: use another name, or replace its value`,
        )
      }),
  }),
  set: operation({
    id: 'secrets.set',
    method: 'PUT',
    path: '/api/setup/secrets/:name',
    scope: 'installation',
    tag: 'setup',
    summary: 'Replaces the value of a secret. What uses it gets the new value at once',
    params: { name: inPath(64) },
    body: { value: VALUE },
    required: ['value'],
    local: { create: { type: 'boolean' } },
    answer: { description: 'The value is replaced', type: 'null' },
    status: 204,
    needs: 'store',
    check: (_host, secret) => checkSecret(secret),
    run: (host, { name, value, create = false }, call) =>
      host.changes.add(async () => {
        await checkPlace(host, { name, value }, call)
        const isThere = create || (await host.secrets.names()).includes(name)
        await host.secrets.set(found(isThere ? name : undefined, 'Secret', name), value, call.by)
      }),
    cli: {
      command: 'secrets set',
      description: 'Store a secret, whose value is read from stdin',
      arguments: { name: 'letters, digits and _' },
      stdin: 'value',
      creates: true,
      read: (typed) => ({ ...typed, create: true }),
      show: (_answer, { name }): Shown => ({
        document: { name },
        result: [`Stored ${name}. Refer to it as "\${secret:${name}}" in the configuration.`],
      }),
    },
  }),
  remove: operation({
    id: 'secrets.remove',
    method: 'DELETE',
    path: '/api/setup/secrets/:name',
    scope: 'installation',
    tag: 'setup',
    summary: "Removes a secret that the configuration doesn't use",
    params: { name: inPath(64) },
    answer: { description: 'The secret is removed', type: 'null' },
    status: 204,
    needs: 'store',
    run: (host, { name }, call) =>
      host.changes.add(async () => {
        // The user of this machine may change the configuration as well.
        if (call.caller !== undefined) await requireUnused(host, name)
        found((await host.secrets.remove(name, call.by)) || undefined, 'Secret', name)
      }),
    cli: {
      command: 'secrets remove',
      description: 'Remove a secret',
      arguments: { name: 'a name that "secrets list" shows' },
      ...{ thing: 'secret', hint: 'see "toolyard secrets list"' },
      show: (_answer, { name }): Shown => ({ document: { name, removed: true }, result: [`Removed ${name}`] }),
    },
  }),
}

async function requireUnused(host: StoreHost, name: string): Promise<void> {
  const { secretUses } = await import('../app/setup/references.ts')
  const uses = secretUses(await host.currentConfig(), [name])[name] ?? []
  if (uses.length === 0) return
  const message = `The configuration uses the secret ${name} in ${uses.join(', ')}: remove it there first`
  throw new OperationError('unprocessable', message)
}

/** Secrets that the configuration refers to. */
export const secrets = {
  operations,
  help: `
The configuration refers to a secret as "\${secret:NAME}". Secrets are encrypted with TOOLYARD_ENCRYPTION_KEY, and never shown.
Running servers use a new value at once.

Examples:
  $ printf %s "$GITHUB_TOKEN" | toolyard secrets set GITHUB_TOKEN
  $ toolyard secrets set STRIPE_KEY < stripe.key
  $ toolyard secrets remove STRIPE_KEY`,
}
