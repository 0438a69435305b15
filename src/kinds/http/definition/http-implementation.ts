import type { Implementation } from '../../../core/tool.ts'

export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export type Place = 'path' | 'query' | 'header' | 'cookie' | 'body'

/** How lists and objects are serialized, as defined by OpenAPI. */
export type ParameterStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'simple' | 'label' | 'matrix'

export interface Placement {
  readonly in: Place
  readonly style?: ParameterStyle
  readonly explode?: boolean
}

export type HttpAuth =
  | { readonly type: 'bearer'; readonly token: string }
  | { readonly type: 'api_key'; readonly in: 'header' | 'query'; readonly name: string; readonly value: string }
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  | {
      readonly type: 'oauth2'
      readonly token_url: string
      readonly client_id: string
      readonly client_secret: string
      readonly scope?: string
      readonly audience?: string
      readonly client_auth?: 'basic' | 'body'
    }
  | UserOAuth

/** The account of the user who calls, at a provider under `connections`. */
export type UserOAuth = { readonly type: 'user_oauth'; readonly provider: string }

export type Pagination = {
  readonly items_path?: string
  readonly max_pages?: number
} & (
  | { readonly type: 'link' }
  | { readonly type: 'cursor'; readonly cursor_path: string; readonly cursor_param: string }
  | { readonly type: 'next_url'; readonly next_path: string }
  | { readonly type: 'page'; readonly page_param: string; readonly first_page?: number }
  | { readonly type: 'offset'; readonly offset_param: string; readonly limit_param?: string; readonly limit: number }
)

/** The `implementation` of an HTTP tool in the configuration. */
export interface HttpImplementation extends Implementation {
  readonly type: 'http'
  readonly url: string
  readonly method?: HttpMethod
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly params_mapping?: Readonly<Record<string, string>>
  readonly params_in?: Readonly<Record<string, Place | Placement>>
  readonly body?: 'json' | 'form' | 'text'
  readonly body_param?: string
  readonly auth?: HttpAuth
  readonly response_path?: string
  readonly pick?: readonly string[]
  readonly max_items?: number
  readonly pagination?: Pagination
  readonly timeout_ms?: number
  readonly first_byte_timeout_ms?: number
  readonly max_response_bytes?: number
  readonly retry?: { readonly max_attempts: number; readonly backoff_ms?: number }
  readonly circuit_breaker?: { readonly failures?: number; readonly open_ms?: number }
  readonly allowed_domains?: readonly string[]
}

export interface HttpSettings {
  readonly allowed_domains?: readonly string[]
  readonly allow_private?: readonly string[]
}

const TEXT = { type: 'string', minLength: 1 } as const
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } } as const
/** At most one day. */
const MILLISECONDS = { type: 'integer', minimum: 1, maximum: 86_400_000 } as const
const JSON_PATH = { type: 'string', minLength: 1 } as const

const PLACE = { enum: ['path', 'query', 'header', 'cookie', 'body'] } as const

const PLACEMENT = {
  anyOf: [
    PLACE,
    {
      type: 'object',
      required: ['in'],
      properties: {
        in: { ...PLACE, description: 'The part of the request.' },
        style: {
          enum: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'simple', 'label', 'matrix'],
          description: 'How a list or an object is serialized, as defined by OpenAPI.',
        },
        explode: { type: 'boolean', description: 'Whether each item or key is sent separately.' },
      },
    },
  ],
} as const

const USER_OAUTH_SCHEMA = {
  required: ['type', 'provider'],
  properties: {
    type: { const: 'user_oauth' },
    provider: { ...TEXT, description: 'The entry under connections: calls use the account of their user there.' },
  },
} as const

const AUTH = {
  type: 'object',
  description: 'How the tool authenticates. Write secrets as "${NAME}", from the environment.',
  required: ['type'],
  oneOf: [
    {
      required: ['type', 'token'],
      properties: {
        type: { const: 'bearer' },
        token: { ...TEXT, description: 'Sent as "Authorization: Bearer …".' },
      },
    },
    {
      required: ['type', 'in', 'name', 'value'],
      properties: {
        type: { const: 'api_key' },
        in: { enum: ['header', 'query'], description: 'The part of the request that carries the key.' },
        name: { ...TEXT, description: 'The name of the header or the query parameter.' },
        value: { ...TEXT, description: 'The key.' },
      },
    },
    {
      required: ['type', 'username', 'password'],
      properties: {
        type: { const: 'basic' },
        username: { type: 'string', pattern: '^[^:]*$', description: 'Without a colon.' },
        password: { type: 'string' },
      },
    },
    {
      required: ['type', 'token_url', 'client_id', 'client_secret'],
      properties: {
        type: { const: 'oauth2' },
        token_url: { ...TEXT, description: 'The token endpoint.' },
        client_id: TEXT,
        client_secret: TEXT,
        scope: { ...TEXT, description: 'Requested scopes, separated by spaces.' },
        audience: TEXT,
        client_auth: {
          enum: ['basic', 'body'],
          description: 'How the client authenticates: in a header (default) or in the form.',
        },
      },
    },
    USER_OAUTH_SCHEMA,
  ],
} as const

const PAGES = {
  items_path: { ...JSON_PATH, description: 'JSONPath of the list in each page; by default the page is the list.' },
  max_pages: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    description: 'Maximum number of requests per call; 10 by default.',
  },
} as const

const PAGINATION = {
  type: 'object',
  description: 'How the next page of a list is requested; only for tools that read.',
  required: ['type'],
  properties: PAGES,
  oneOf: [
    { properties: { type: { const: 'link', description: 'The Link header names the next page.' } } },
    {
      required: ['type', 'cursor_path', 'cursor_param'],
      properties: {
        type: { const: 'cursor' },
        cursor_path: { ...JSON_PATH, description: 'JSONPath of the cursor of the next page.' },
        cursor_param: { ...TEXT, description: 'The query parameter for the cursor.' },
      },
    },
    {
      required: ['type', 'next_path'],
      properties: {
        type: { const: 'next_url' },
        next_path: { ...JSON_PATH, description: 'JSONPath of the URL of the next page.' },
      },
    },
    {
      required: ['type', 'page_param'],
      properties: {
        type: { const: 'page' },
        page_param: { ...TEXT, description: 'The query parameter for the page number.' },
        first_page: { type: 'integer', minimum: 0, description: '1 by default.' },
      },
    },
    {
      required: ['type', 'offset_param', 'limit'],
      properties: {
        type: { const: 'offset' },
        offset_param: { ...TEXT, description: 'The query parameter for the number of items to skip.' },
        limit_param: { ...TEXT, description: 'The query parameter for the page size.' },
        limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'The page size.' },
      },
    },
  ],
} as const

/** JSON Schema of an HTTP tool's `implementation`, for validation and editors. */
export const HTTP_IMPLEMENTATION_SCHEMA = {
  type: 'object',
  description: 'A request to an HTTP API. ${VAR} in url, headers, query and auth is replaced from the environment.',
  required: ['type', 'url'],
  properties: {
    type: { const: 'http' },
    url: {
      ...TEXT,
      description: 'Such as https://api.example.com/users/{id}: the path may contain {parameter}; the host is fixed.',
    },
    method: {
      enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      description: 'GET by default. Parameters are sent in the body of POST, PUT and PATCH, otherwise in the query.',
    },
    headers: { ...TEXTS, description: 'Sent with every request.' },
    query: { ...TEXTS, description: 'Sent in the query of every request, in addition to the parameters.' },
    params_mapping: {
      type: 'object',
      additionalProperties: TEXT,
      description:
        'What the API calls a parameter, by its name here. With a mapping, only mapped parameters go into the query.',
    },
    params_in: {
      type: 'object',
      additionalProperties: PLACEMENT,
      description: 'Parameters that are not sent in their default place, by name.',
    },
    body: { enum: ['json', 'form', 'text'], description: 'The format of the body; json by default.' },
    body_param: {
      ...TEXT,
      description: 'The parameter that is sent as the whole body; the others are then sent in the query.',
    },
    auth: AUTH,
    response_path: {
      ...JSON_PATH,
      description: 'JSONPath of the part of the response to return; null if nothing matches.',
    },
    pick: {
      type: 'array',
      minItems: 1,
      items: TEXT,
      description: 'The keys to keep of the returned object, or of each object in the returned list.',
    },
    max_items: { type: 'integer', minimum: 1, description: 'Lists are cut to this length.' },
    pagination: PAGINATION,
    timeout_ms: { ...MILLISECONDS, description: 'Timeout of one attempt; 10000 by default.' },
    first_byte_timeout_ms: { ...MILLISECONDS, description: 'Timeout until the response begins.' },
    max_response_bytes: {
      type: 'integer',
      minimum: 1,
      maximum: 1_073_741_824,
      description: 'A longer response is an error.',
    },
    retry: {
      type: 'object',
      description: 'Retries after network errors, 5xx, 429 and 408, unless a retry could repeat a write.',
      required: ['max_attempts'],
      properties: {
        max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
        backoff_ms: { type: 'number', minimum: 0, description: 'Doubled each time; 1000 by default.' },
      },
    },
    circuit_breaker: {
      type: 'object',
      description: 'Stops calling a service that keeps failing.',
      properties: {
        failures: {
          type: 'integer',
          minimum: 1,
          maximum: 1_000,
          description: 'Consecutive failures that open the circuit.',
        },
        open_ms: { ...MILLISECONDS, description: 'How long the circuit stays open.' },
      },
    },
    allowed_domains: {
      type: 'array',
      items: TEXT,
      description: 'The only hosts that the tool may reach, within http.allowed_domains.',
    },
  },
} as const
