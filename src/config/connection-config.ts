import type { Described } from '../core/json/described.ts'
import { suggest } from '../core/suggest.ts'
import { DomainList, hostName } from '../kinds/http/network/network-rules.ts'

/** The parts of the configuration that belong to connections. */
interface Connecting {
  readonly connections?: Readonly<Record<string, ConnectionConfig>> | undefined
  readonly server?: { readonly public_url?: string }
}

const LOOPBACK_HOST = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Over http anyone on the way could replace the keys of an issuer, or read tokens. */
export const isSafeAddress = (url: URL | null): boolean =>
  url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK_HOST.test(url.hostname)))

const TEXT = { type: 'string', minLength: 1, maxLength: 2_000 } as const

const PROVIDER_NAME = '^[A-Za-z0-9_.-]{1,64}$'

/** Parameters that the flow sets itself. */
const OWN_PARAMETERS = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri'],
])

export const CONNECTION_SCHEMA = {
  type: 'object',
  required: ['authorization_url', 'token_url', 'hosts', 'client_id'],
  additionalProperties: false,
  properties: {
    title: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      description: 'The display name. Default: the name of the entry.',
    },
    authorization_url: { ...TEXT, description: 'The authorization endpoint, where users grant access.' },
    token_url: { ...TEXT, description: 'The token endpoint.' },
    revocation_url: { ...TEXT, description: 'Where tokens are revoked (RFC 7009). Default: they are only deleted.' },
    hosts: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: TEXT,
      description: 'The only hosts that get the tokens, such as "api.example.com" or "*.example.com".',
    },
    client_id: TEXT,
    client_secret: { ...TEXT, description: 'As "${NAME}", from the environment. Default: a public client.' },
    client_auth: {
      enum: ['basic', 'body'],
      description: 'How the client authenticates: in a header (default) or in the form.',
    },
    scopes: {
      type: 'array',
      maxItems: 100,
      items: { type: 'string', pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,200}$' },
    },
    parameters: {
      type: 'object',
      additionalProperties: TEXT,
      description: 'Added to the authorization URL, such as "access_type": "offline".',
    },
  },
} as const

/** An OAuth provider at which users connect their accounts. */
export interface ConnectionConfig extends Described<typeof CONNECTION_SCHEMA> {}

export const CONNECTIONS_SCHEMA = {
  type: 'object',
  description:
    'OAuth providers at which users connect their accounts. Needs server.public_url and TOOLYARD_ENCRYPTION_KEY.',
  propertyNames: { pattern: PROVIDER_NAME },
  maxProperties: 100,
  additionalProperties: CONNECTION_SCHEMA,
} as const

/** Problems beyond the schema, each with its path and a fix. */
export function connectionProblems({ connections = {}, server }: Connecting): string[] {
  const entries = Object.entries(connections)
  const problems = entries.flatMap(([name, provider]) => [
    ...(['authorization_url', 'token_url', 'revocation_url'] as const).flatMap((key) => {
      const text = provider[key]
      const url = text === undefined ? null : URL.parse(text)
      const isFit = isSafeAddress(url) && url?.hash === '' && url.username === '' && url.password === ''
      if (text === undefined || isFit) return []
      return [`connections.${name}.${key} ${JSON.stringify(text)} must be an https address, or one of this machine.`]
    }),
    ...hostProblem(name, provider),
    ...Object.keys(provider.parameters ?? {})
      .filter((key) => OWN_PARAMETERS.has(key))
      .map((key) => `connections.${name}.parameters.${key} is set by Toolyard: remove it.`),
  ])
  if (entries.length > 0 && server?.public_url === undefined) {
    problems.push('connections need server.public_url: providers send users back to that address.')
  }
  return problems
}

function hostProblem(name: string, { hosts }: ConnectionConfig): string[] {
  try {
    new DomainList(hosts, `connections.${name}.hosts`)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

/** Why the tokens of a provider can't be sent to this address; `auth` of a tool or server names the provider. */
export function connectionProblem(
  provider: string,
  url: URL | null,
  connections: Connecting['connections'] = {},
): string | undefined {
  if (!Object.hasOwn(connections, provider)) {
    const known = Object.keys(connections)
    const [near] = suggest(provider, known)
    const fix = near === undefined ? `Use one of: ${known.join(', ') || 'none'}` : `Did you mean "${near}"?`
    return `Unknown provider ${JSON.stringify(provider)} under connections. ${fix}`
  }
  const { hosts } = connections[provider] as ConnectionConfig
  const host = url === null ? undefined : hostName(url.hostname)
  if (url === null || host === undefined || !new DomainList(hosts, 'hosts').has(host)) {
    return `The host '${url?.hostname}' isn't in connections.${provider}.hosts: add it if it may get the tokens of users`
  }
  return isSafeAddress(url) ? undefined : `Tokens of users aren't sent over http: use https`
}
