import type { Described } from '../../../core/json/described.ts'
import type { Implementation } from '../../../core/tool.ts'

/** The key `http`. */
export const HTTP_SETTINGS_SCHEMA = {
  type: 'object',
  description: 'Network policy of HTTP tools.',
  additionalProperties: false,
  properties: {
    allowed_domains: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description:
        'The allowed hosts: "api.example.com", or "*.example.com" for its subdomains. A tool may restrict them further.',
    },
    allow_private: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Private addresses that are allowed, such as "10.1.2.0/24". Default: none.',
    },
  },
} as const

export interface HttpSettings extends Described<typeof HTTP_SETTINGS_SCHEMA> {}

const TEXT = { type: 'string', minLength: 1 } as const
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } } as const
/** At most one day. */
const MILLISECONDS = { type: 'integer', minimum: 1, maximum: 86_400_000 } as const
const JSON_PATH = { type: 'string', minLength: 1 } as const

const PLACE = { enum: ['path', 'query', 'header', 'cookie', 'body'] } as const

export type Place = (typeof PLACE.enum)[number]

const PLACEMENT_SCHEMA = {
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
} as const

export interface Placement extends Described<typeof PLACEMENT_SCHEMA> {}
export type ParameterStyle = NonNullable<Placement['style']>

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
    {
      required: ['type', 'provider'],
      properties: {
        type: { const: 'user_oauth' },
        provider: { ...TEXT, description: 'The entry under connections: calls use the account of their user there.' },
      },
    },
  ],
} as const

export type HttpAuth = Described<typeof AUTH>

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

export type Pagination = Described<typeof PAGINATION>

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
      additionalProperties: { anyOf: [PLACE, PLACEMENT_SCHEMA] },
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

/** The `implementation` of an HTTP tool in the configuration. */
export interface HttpImplementation
  extends Pick<Implementation, 'handler'>,
    Described<typeof HTTP_IMPLEMENTATION_SCHEMA> {
  readonly [option: string]: unknown
}

export type HttpMethod = NonNullable<HttpImplementation['method']>
