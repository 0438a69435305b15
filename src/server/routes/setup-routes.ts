import type { FastifyInstance, FastifyReply } from 'fastify'
import type { SetupChange } from '../../app/setup/build-change.ts'
import type { OpenapiSource } from '../../app/setup/openapi-tools.ts'
import type { NamedSecret } from '../../app/setup/references.ts'
import { type ChangeRequest, Setup } from '../../app/setup/setup.ts'
import type { TestedProvider } from '../../app/setup/test-model.ts'
import { secrets } from '../../operations/secrets.ts'
import { operationRoutes } from '../http/operation-routes.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, route, TEXT } from '../http/route.ts'

const BODY_BYTES = 12 * 1024 * 1024
const FLAG = { type: 'boolean' }
const TEXTS = { type: 'array', items: TEXT }
const REASON = { ...TEXT, description: 'Why not, and what to do.' }
const short = (maxLength: number, description?: string) => ({
  ...TEXT,
  minLength: 1,
  maxLength,
  ...(description && { description }),
})

const SECRET = {
  ...exactly({ name: short(64), value: { ...TEXT, maxLength: 65_536 } }),
  required: ['name'],
  description: 'Stored encrypted. A preview needs no value. The configuration refers to it as ${secret:NAME}.',
}
const ALLOW_PRIVATE = {
  ...{ type: 'array', items: short(45), maxItems: 20 },
  description: 'Addresses of private_hosts, which the change adds to http.allow_private.',
}
const SECRETS = { type: 'array', items: SECRET, maxItems: 100 }
const CREDENTIAL = {
  ...exactly({ secret: SECRET, variable: short(128, 'An environment variable.') }),
  minProperties: 1,
  maxProperties: 1,
}
const SERVERS = {
  servers: { type: 'object', additionalProperties: { type: 'object' }, description: 'As in mcpServers.' },
  text: short(500_000, 'What was pasted: mcpServers, servers, their entries, or a URL.'),
  secrets: SECRETS,
}
const OPENAPI = {
  url: short(2_000, 'The address of the document.'),
  document: short(BODY_BYTES, 'The document itself, in JSON or YAML.'),
  base_url: short(2_000, 'Instead of the servers in the document.'),
  prefix: short(32, 'The beginning of every name.'),
}
const PROVIDER = {
  name: { ...TEXT, pattern: '^[A-Za-z0-9_.-]{1,64}$' },
  type: short(32),
  base_url: short(2_000),
  api_key: CREDENTIAL,
}
const MODELS = {
  type: 'array',
  maxItems: 100,
  items: { ...exactly({ id: short(200, 'Without the provider.'), name: short(200) }), required: ['id'] },
}
const kind = (name: SetupChange['kind'], properties: object, required: readonly string[] = []) => ({
  ...exactly({ kind: { const: name }, ...properties }),
  required: ['kind', ...required],
})
/** Checked by kind, so that an error names the property. */
const CHANGES: Readonly<Record<SetupChange['kind'], object>> = {
  mcp_servers: kind('mcp_servers', SERVERS),
  provider: kind('provider', { ...PROVIDER, models: MODELS }, ['name']),
  http_tool: kind(
    'http_tool',
    {
      ...{ tool: { type: 'object' }, allow_private: ALLOW_PRIVATE, secrets: SECRETS },
      command: short(100_000, 'The curl command, for its secrets.'),
    },
    ['tool'],
  ),
  openapi: kind(
    'openapi',
    {
      ...OPENAPI,
      operations: { type: 'array', items: short(64), minItems: 1, maxItems: 1_000 },
      credentials: { type: 'object', additionalProperties: CREDENTIAL, maxProperties: 100 },
      allow_private: ALLOW_PRIVATE,
    },
    ['operations'],
  ),
  remove_model: kind('remove_model', { id: short(300) }, ['id']),
  remove_provider: kind('remove_provider', { name: short(200) }, ['name']),
  remove_tool: kind('remove_tool', { name: short(200) }, ['name']),
  remove_mcp_server: kind('remove_mcp_server', { name: short(200) }, ['name']),
  payloads: kind('payloads', { policy: { enum: ['off', 'errors', 'all'] } }, ['policy']),
  collection: kind('collection', { name: short(57), description: short(500) }, ['name']),
}

const SECRET_PLACES = list({ name: TEXT, place: TEXT }, 'The secrets that are stored, without their values.')

/** Changes the configuration file from the web UI. */
export function setupRoutes(app: FastifyInstance): void {
  const { installation, authenticator } = app
  const setup = new Setup(installation, { isLocal: () => authenticator.local })
  app.addHook('onClose', () => setup.close())

  app.get(
    '/api/setup',
    route('installation', 'setup', 'Says what can be set up, and whether the configuration file can be written', {
      response: {
        200: object(
          {
            file: { type: ['string', 'null'], description: 'The name of the configuration file.' },
            creates: { ...FLAG, description: 'Whether the first change creates it.' },
            writable: FLAG,
            reason: REASON,
            secrets: object({
              ...{ enabled: FLAG, reason: REASON, names: TEXTS },
              uses: {
                type: 'object',
                additionalProperties: TEXTS,
                description: 'By name: the parts of the configuration that use it.',
              },
            }),
            payloads: { enum: ['off', 'errors', 'all'], description: 'Which parameters and results are stored.' },
            models: list(
              { name: TEXT, entry: FLAG, models: TEXTS },
              'The providers that the configuration file has an entry or models of.',
            ),
            tools: { ...TEXTS, description: 'The tools in the configuration file.' },
            servers: { ...TEXTS, description: 'The MCP servers in the configuration file.' },
            variables: object({ any: FLAG, names: TEXTS }, 'The environment variables that a change may name.'),
            commands: object({ allowed: FLAG, reason: REASON }, 'Whether MCP servers with a command can be added.'),
            providers: list({ type: TEXT, variable: TEXT, needs_key: FLAG }),
          },
          'What can be set up',
        ),
      },
    }),
    () => setup.state(),
  )

  operationRoutes({ add: secrets.operations.add })(app)

  app.post<{ Body: { backup: string } }>(
    '/api/setup/undo',
    route('installation', 'setup', 'Takes the last written change back, unless the file has changed since', {
      body: { ...exactly({ backup: short(300, '`backup` of the change.') }), required: ['backup'] },
      response: { 204: { description: 'The file is as before', type: 'null' } },
    }),
    async ({ body: { backup }, caller }, reply) => {
      await setup.undo(backup, caller)
      return reply.code(204).send()
    },
  )

  operationRoutes({ set: secrets.operations.set, remove: secrets.operations.remove })(app)

  app.post<{ Body: { servers?: Record<string, unknown>; text?: string; secrets?: NamedSecret[] } }>(
    '/api/setup/mcp-servers/test',
    route('installation', 'setup', 'Connects to MCP servers that are not configured yet, and lists their tools', {
      body: exactly(SERVERS),
      response: {
        200: object({
          servers: list({
            name: TEXT,
            transport: { enum: ['stdio', 'http', 'sse'] },
            ok: FLAG,
            tools: list({ name: TEXT, description: TEXT }),
            more: { ...COUNT, description: 'How many tools are not listed.' },
            error: TEXT,
          }),
        }),
      },
    }),
    async (request, reply) => ({
      servers: await setup.test({ kind: 'mcp_servers', ...request.body }, signalOf(reply)),
    }),
  )

  app.post<{ Body: Omit<TestedProvider, 'kind'> }>(
    '/api/setup/models/test',
    route('installation', 'setup', 'Sends one short request to a model that is not configured yet', {
      body: {
        ...exactly({ ...PROVIDER, models: { ...MODELS, minItems: 1, maxItems: 1 } }),
        required: ['name', 'models'],
      },
      response: {
        200: object({
          ok: { ...FLAG, description: 'Whether the model answered.' },
          ms: { ...COUNT, description: 'How long it took, in milliseconds.' },
          answer: { ...TEXT, description: 'What the model answered, in one line.' },
          error: { ...TEXT, description: 'Why it did not answer, and what to do.' },
        }),
      },
    }),
    ({ body, caller }, reply) => setup.testModel({ kind: 'provider', ...body }, caller, signalOf(reply)),
  )

  app.post<{ Body: { command: string } }>(
    '/api/setup/curl',
    route('installation', 'setup', 'Proposes an HTTP tool for a curl command. Nothing is sent', {
      body: { ...exactly({ command: short(100_000) }), required: ['command'] },
      response: {
        200: object({
          tool: { type: 'object', additionalProperties: true },
          secrets: SECRET_PLACES,
          warnings: TEXTS,
        }),
      },
    }),
    ({ body: { command } }) => setup.curl(command),
  )

  app.post<{ Body: OpenapiSource }>(
    '/api/setup/openapi',
    {
      bodyLimit: BODY_BYTES,
      ...route('installation', 'setup', 'Lists the operations of an OpenAPI document', {
        body: exactly(OPENAPI),
        response: {
          200: object({
            title: TEXT,
            operations: list({
              ...{ name: TEXT, method: TEXT, path: TEXT, summary: TEXT, deprecated: FLAG },
              effect: { enum: ['read', 'idempotent', 'write', null] },
              problem: { ...TEXT, description: "Why it can't be imported." },
            }),
            credentials: list({ variable: TEXT, hosts: TEXTS }, 'What the operations authenticate with.'),
            notes: TEXTS,
          }),
        },
      }),
    },
    (request, reply) => {
      oneOf(request.body, 'url', 'document')
      return setup.openapi(request.body, signalOf(reply))
    },
  )

  app.post<{ Body: ChangeRequest }>(
    '/api/setup/changes',
    {
      bodyLimit: BODY_BYTES,
      ...route('installation', 'setup', 'Shows what a change would write to the configuration file, or writes it', {
        body: {
          ...exactly({
            change: {
              type: 'object',
              required: ['kind'],
              properties: { kind: { enum: Object.keys(CHANGES) } },
              allOf: Object.entries(CHANGES).map(([name, schema]) => ({
                if: { properties: { kind: { const: name } } },
                // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
                then: schema,
              })),
            },
            write: { ...FLAG, description: 'Default: false, nothing changes.' },
            base: { ...TEXT, maxLength: 64, description: 'The base of the preview: 409 if the file has changed.' },
          }),
          required: ['change'],
        },
        response: {
          200: object({
            base: { ...TEXT, description: 'Identifies the file that the diff applies to.' },
            diff: { ...TEXT, description: 'A unified diff, without secrets.' },
            text: { ...TEXT, description: 'The change as a part of a configuration, to copy.' },
            warnings: TEXTS,
            secrets: SECRET_PLACES,
            private_hosts: list(
              { host: TEXT, addresses: TEXTS },
              'Hosts of new tools that are blocked unless http.allow_private lists their addresses.',
            ),
            added: object(
              { servers: TEXTS, providers: TEXTS, models: TEXTS, tools: TEXTS, settings: TEXTS },
              'The names of what is added.',
            ),
            written: { ...FLAG, description: 'Whether the file is written. Then the server has reloaded it.' },
            reason: { ...TEXT, description: 'Why the server did not write the change: copy it instead.' },
            backup: { ...TEXT, description: 'The name of the backup with the previous text.' },
          }),
        },
      }),
    },
    (request, reply) => {
      const { change } = request.body
      if (change.kind === 'mcp_servers') oneOf(change, 'servers', 'text')
      if (change.kind === 'openapi') oneOf(change, 'url', 'document')
      return setup.change(request.body, request.caller, signalOf(reply))
    },
  )

  app.post<{ Body: { collection: string; name: string; content: string } }>(
    '/api/setup/documents',
    {
      bodyLimit: BODY_BYTES,
      ...route('installation', 'setup', 'Stores a file in a collection of your tenant', {
        body: {
          ...exactly({
            collection: short(57),
            name: short(255, 'The name of the file. A file of the same name is replaced.'),
            content: { ...TEXT, maxLength: BODY_BYTES, pattern: '^[A-Za-z0-9+/]*={0,2}$', description: 'In base64.' },
          }),
          required: ['collection', 'name', 'content'],
        },
        response: { 200: object({ document_id: TEXT, chunks: COUNT, warnings: TEXTS }) },
      }),
    },
    (request, reply) => {
      const { collection, name, content } = request.body
      const bytes = Buffer.from(content, 'base64')
      return setup.document({ collection, name, bytes }, request.caller, signalOf(reply))
    },
  )
}

/** Ends the work when the client has gone. */
function signalOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => gone.abort(new Error('The client has gone')))
  return gone.signal
}

function oneOf(body: object, ...names: readonly string[]): void {
  if (names.filter((name) => Object.hasOwn(body, name)).length === 1) return
  throw new HttpProblem(400, 'The request is not valid', `send either ${names.join(' or ')}`)
}
