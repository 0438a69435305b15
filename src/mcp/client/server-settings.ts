import type { AuthProvider, ClientCapabilities, FetchLike } from '@modelcontextprotocol/client'
import type { Described } from '../../core/json/described.ts'

/** The longest that Node.js can wait. */
export const MAX_TIMER_MS = 2 ** 31 - 1

export const MCP_OAUTH_SCHEMA = {
  type: 'object',
  description: "A registered client, if the authorization server doesn't support dynamic registration.",
  properties: {
    client_id: { type: 'string', minLength: 1 },
    client_secret: { type: 'string', minLength: 1 },
    private_key: { type: 'string', minLength: 1, description: 'In PEM, for client_credentials.' },
    issuer: {
      type: 'string',
      minLength: 1,
      description: 'The only authorization server that receives the secret.',
    },
    grant_type: {
      enum: ['authorization_code', 'client_credentials'],
      description: 'client_credentials needs no login.',
    },
  },
} as const

export interface McpOAuthConfig extends Described<typeof MCP_OAUTH_SCHEMA> {}

export const FORWARDING_SCHEMA = {
  type: 'object',
  description: 'What Toolyard forwards from this server to MCP clients, and what it may ask them during a call.',
  additionalProperties: false,
  properties: {
    prompts: { type: 'boolean', description: 'Its prompts. Default: true.' },
    resources: { type: 'boolean', description: 'Its resources. Default: true.' },
    logging: { type: 'boolean', description: 'Its log messages. Default: false.' },
    elicitation: {
      enum: [false, true, 'ask'],
      description: 'true: it may ask the user of the client; ask: people in the web UI. Default: false.',
    },
    sampling: {
      enum: [false, true, 'ask'],
      description: "true: it may ask the client's model; ask: people in the web UI. Default: false.",
    },
    roots: { type: 'boolean', description: "It may read the client's roots. Default: false." },
  },
} as const

/** What clients get of a server besides its tools, and what the server may ask them during a call. */
export interface Forwarding extends Required<Described<typeof FORWARDING_SCHEMA>> {}

/** An entry of `mcpServers` in the usual format. Additional keys are allowed: entries are copied from other clients. */
export const MCP_SERVER_SCHEMA = {
  type: 'object',
  properties: {
    // The three names in the middle mean the same in different clients.
    type: {
      enum: ['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'],
      description: 'The transport. Default: detected.',
    },
    command: {
      type: 'string',
      minLength: 1,
      description: 'The program to start; it communicates over stdin and stdout.',
    },
    args: { type: 'array', items: { type: 'string' } },
    env: {
      type: 'object',
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
      description: 'Environment variables, besides PATH, HOME and a few others.',
    },
    cwd: { type: 'string', minLength: 1, description: 'The working directory.' },
    url: { type: 'string', minLength: 1, description: 'The address of a running server.' },
    headers: { type: 'object', additionalProperties: { type: 'string' }, description: 'Sent with every request.' },
    oauth: MCP_OAUTH_SCHEMA,
    // Other clients have other types here, which are ignored.
    auth: {
      type: 'object',
      description: 'With the type "user_oauth", calls use the account of their user at a provider under connections.',
      properties: { type: { type: 'string' }, provider: { type: 'string', minLength: 1 } },
    },
    disabled: { type: 'boolean', description: 'true disables the server.' },
    parameter_names: {
      type: 'object',
      description: 'By tool: what the server calls the parameters that models see under another name.',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
    },
    pin: { type: 'boolean', description: 'true refuses changed tools until they are approved.' },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_TIMER_MS,
      description: 'The timeout of its tools. Default: timeout, then tools.default_timeout_ms.',
    },
    timeout: {
      description:
        'The same, as other clients write it. Values below 1000 are ignored: some configurations write seconds.',
    },
    check: { type: 'string', minLength: 1, description: "What to check if the server can't be reached." },
    forward: FORWARDING_SCHEMA,
  },
} as const

export interface McpServerConfig extends Described<typeof MCP_SERVER_SCHEMA> {}

export const MCP_SERVERS_SCHEMA = {
  type: 'object',
  description:
    'MCP servers, in the format of Claude Desktop, Cursor and VS Code. ${VAR} is replaced from the environment.',
  additionalProperties: MCP_SERVER_SCHEMA,
} as const

export const MCP_INPUT_SCHEMA = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string', minLength: 1 }, description: { type: 'string' } },
} as const

/** A prompt of VS Code. */
export interface McpInput extends Described<typeof MCP_INPUT_SCHEMA> {
  readonly password?: boolean
}

/** How to reach one MCP server; variables are already replaced. */
export interface McpServerSettings {
  /** The key under `mcpServers`. */
  readonly name: string
  readonly reach: StdioReach | HttpReach
  /** Rejects tools whose definition changed until the operator approves them. */
  readonly pin?: boolean
  readonly check?: string
  /** The timeout of tools that have none of their own. */
  readonly timeoutMs?: number
  /** By tool: what the server calls the parameters that models see under another name. */
  readonly parameterNames?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly forward?: Partial<Forwarding>
  /** What Toolyard declares to the server. Default: what `forward` allows. */
  readonly capabilities?: ClientCapabilities
  /** Which server this is, without secrets: equal on every machine. */
  readonly identity?: unknown
}

/** Which server calls reach: if it changes, approvals of its tools are asked for again. */
export function serverIdentity({ identity, reach }: McpServerSettings): unknown {
  if (identity !== undefined) return identity
  if (reach.type === 'stdio') return [reach.command, reach.args, Object.keys(reach.env).sort(), reach.cwd ?? null]
  return [reach.type, reach.url, Object.keys(reach.headers).sort(), reach.account ?? null]
}

const FORWARDED: Forwarding = {
  ...{ prompts: true, resources: true },
  ...{ logging: false, elicitation: false, sampling: false, roots: false },
}

export const forwardingOf = ({ forward }: McpServerSettings): Forwarding => ({ ...FORWARDED, ...forward })

/** The capabilities of a client that a server may use. */
export function forwardedCapabilities(
  { elicitation, sampling, roots }: Forwarding,
  client: Readonly<Record<string, unknown>>,
): ClientCapabilities {
  const has = (key: string, part: string): boolean => part in Object(client[key])
  return {
    // People can't be sent to an address, and don't call tools.
    ...(elicitation === 'ask' && { elicitation: { form: {} } }),
    ...(sampling === 'ask' && { sampling: {} }),
    ...(elicitation === true &&
      'elicitation' in client && {
        elicitation: {
          // A client that names no mode has forms.
          ...((has('elicitation', 'form') || !has('elicitation', 'url')) && { form: {} }),
          ...(has('elicitation', 'url') && { url: {} }),
        },
      }),
    ...(sampling === true && 'sampling' in client && { sampling: has('sampling', 'tools') ? { tools: {} } : {} }),
    ...(roots && 'roots' in client && { roots: {} }),
  }
}

/** What `forward` allows, whatever the client of a call can do: servers offer tools that need it. */
export const declaredCapabilities = (settings: McpServerSettings): ClientCapabilities =>
  settings.capabilities ?? forwardedCapabilities(forwardingOf(settings), EVERYTHING)

const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} }

/** A server that is reached over HTTP. */
export type HttpServerSettings = McpServerSettings & { readonly reach: HttpReach }

export interface StdioReach {
  readonly type: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface HttpReach {
  /** `auto`: streamable HTTP, or SSE for servers that don't support it. */
  readonly type: 'auto' | 'http' | 'sse'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A registered OAuth client; by default Toolyard registers itself. */
  readonly oauth?: OAuthClientSettings
  /** The provider at which users have accounts: calls use that of their user. */
  readonly account?: string
  /** Sends all requests to the server, and those that its answers cause. */
  readonly fetch: FetchLike
  /** The private addresses that `fetch` may reach. */
  readonly allowPrivate?: readonly string[]
}

export interface OAuthClientSettings {
  readonly clientId: string
  readonly clientSecret?: string
  /** In PEM, for the client credentials grant. */
  readonly privateKey?: string
  /** The only authorization server that the client is used with. */
  readonly issuer?: string
  /** Whether the client gets its own tokens, without a user. */
  readonly isMachine: boolean
}

export interface TokenSupply extends AuthProvider {
  /** Sends requests to the server and retries those refused because of their token. */
  readonly fetch: FetchLike
}

/** Attempts before a connection is given up, with pauses of 0, 2 s and 4 s. */
export const MCP_RETRY_ATTEMPTS = 3
export const MCP_RETRY_BASE_DELAY = 2_000

/** Timeout of one attempt. A server that `npx` installs first needs this long. */
export const MCP_CONNECT_TIMEOUT = 30_000
/** Timeout for the question whether the server knows the newer protocol. Older stdio servers may never answer it. */
export const MCP_STDIO_PROBE_TIMEOUT = 2_000
export const MCP_HTTP_PROBE_TIMEOUT = 15_000

/** Pauses between background attempts, doubled each time. */
export const MCP_BACKGROUND_DELAY = 30_000
export const MCP_BACKGROUND_MAX_DELAY = 300_000

export const retryDelay = (attempt: number): number => (attempt === 1 ? 0 : MCP_RETRY_BASE_DELAY * 2 ** (attempt - 2))
