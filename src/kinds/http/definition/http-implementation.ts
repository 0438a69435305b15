import type { Implementation } from '../../../core/tool.ts'

/** What an HTTP tool may do; the others either carry nothing back or are not for tools. */
export type HttpMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Where a parameter goes in a request. */
export type Place = 'path' | 'query' | 'header' | 'cookie' | 'body'

/** How a list or an object is written in a query, a header or a path, in the words of OpenAPI. */
export type ParameterStyle = 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'simple' | 'label' | 'matrix'

/** Where a parameter goes, and how it is written there. */
export interface Placement {
  readonly in: Place
  readonly style?: ParameterStyle
  readonly explode?: boolean
}

/** How a tool shows who it is. */
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
      /** How the client shows who it is: in a header, as the standard wants it, or in the form. */
      readonly client_auth?: 'basic' | 'body'
    }

/** How the next page of a list is asked for. */
export type Pagination = {
  /** The list in each page, as JSONPath; without it the page itself is the list. */
  readonly items_path?: string
  /** At most so many requests in one call; 10 if not given, 100 at most. */
  readonly max_pages?: number
} & (
  | { readonly type: 'link' }
  | { readonly type: 'cursor'; readonly cursor_path: string; readonly cursor_param: string }
  | { readonly type: 'next_url'; readonly next_path: string }
  | { readonly type: 'page'; readonly page_param: string; readonly first_page?: number }
  | { readonly type: 'offset'; readonly offset_param: string; readonly limit_param?: string; readonly limit: number }
)

/** The `implementation` of an HTTP tool, as it stands in the configuration. */
export interface HttpImplementation extends Implementation {
  readonly type: 'http'
  /** With `{parameter}` in its path; the host is fixed. */
  readonly url: string
  readonly method?: HttpMethod
  readonly headers?: Readonly<Record<string, string>>
  /** Sent with every request, besides what the parameters say. */
  readonly query?: Readonly<Record<string, string>>
  /** The API's names of parameters that it calls otherwise. */
  readonly params_mapping?: Readonly<Record<string, string>>
  /** Where parameters go that do not go where they usually would. */
  readonly params_in?: Readonly<Record<string, Place | Placement>>
  readonly body?: 'json' | 'form' | 'text'
  /** The parameter that is the whole body, where that is no object of parameters. */
  readonly body_param?: string
  readonly auth?: HttpAuth
  readonly response_path?: string
  /** The keys that are kept of the object, or of each object of the list, that comes back. */
  readonly pick?: readonly string[]
  /** A list is cut after so many. */
  readonly max_items?: number
  readonly pagination?: Pagination
  /** For one attempt, inside the deadline of the call. */
  readonly timeout_ms?: number
  readonly first_byte_timeout_ms?: number
  readonly max_response_bytes?: number
  readonly retry?: { readonly max_attempts: number; readonly backoff_ms?: number }
  readonly circuit_breaker?: { readonly failures?: number; readonly open_ms?: number }
  readonly allowed_domains?: readonly string[]
}

/** The `http` section of the configuration: what holds for every HTTP tool of an installation. */
export interface HttpSettings {
  readonly allowed_domains?: readonly string[]
  readonly allow_private?: readonly string[]
}

const TEXT = { type: 'string', minLength: 1 } as const
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } } as const
/** A day: whatever takes longer is no request. */
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
        in: { ...PLACE, description: 'Where it goes.' },
        style: {
          enum: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'simple', 'label', 'matrix'],
          description: 'How a list or an object is written there, in the words of OpenAPI.',
        },
        explode: { type: 'boolean', description: 'Whether each item or key is written apart.' },
      },
    },
  ],
} as const

const AUTH = {
  type: 'object',
  description: 'How the tool shows who it is. Write secrets as "${NAME}", from the environment.',
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
        in: { enum: ['header', 'query'], description: 'Where the key goes.' },
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
        token_url: { ...TEXT, description: 'Where a token is asked for, with the client credentials.' },
        client_id: TEXT,
        client_secret: TEXT,
        scope: { ...TEXT, description: 'What is asked for, with blanks between.' },
        audience: TEXT,
        client_auth: {
          enum: ['basic', 'body'],
          description: 'How the client shows who it is: in a header (usual) or in the form.',
        },
      },
    },
  ],
} as const

const PAGES = {
  items_path: { ...JSON_PATH, description: 'The list in each page, as JSONPath; without it the page is the list.' },
  max_pages: { type: 'integer', minimum: 1, maximum: 100, description: 'Requests in one call; 10 if not given.' },
} as const

const PAGINATION = {
  type: 'object',
  description: 'How the next page of a list is asked for; only for tools that read.',
  required: ['type'],
  properties: PAGES,
  oneOf: [
    { properties: { type: { const: 'link', description: 'The header Link names the next page.' } } },
    {
      required: ['type', 'cursor_path', 'cursor_param'],
      properties: {
        type: { const: 'cursor' },
        cursor_path: { ...JSON_PATH, description: 'Where a page holds the cursor of the next, as JSONPath.' },
        cursor_param: { ...TEXT, description: 'The query parameter that the cursor is sent in.' },
      },
    },
    {
      required: ['type', 'next_path'],
      properties: {
        type: { const: 'next_url' },
        next_path: { ...JSON_PATH, description: 'Where a page holds the address of the next, as JSONPath.' },
      },
    },
    {
      required: ['type', 'page_param'],
      properties: {
        type: { const: 'page' },
        page_param: { ...TEXT, description: 'The query parameter that counts the pages.' },
        first_page: { type: 'integer', minimum: 0, description: '1 if not given.' },
      },
    },
    {
      required: ['type', 'offset_param', 'limit'],
      properties: {
        type: { const: 'offset' },
        offset_param: { ...TEXT, description: 'The query parameter that says how many to leave out.' },
        limit_param: { ...TEXT, description: 'The query parameter that says how many to send.' },
        limit: { type: 'integer', minimum: 1, maximum: 100_000, description: 'How many a page has.' },
      },
    },
  ],
} as const

/** The `implementation` of an HTTP tool, as JSON Schema: what is checked, and what editors complete from. */
export const HTTP_IMPLEMENTATION_SCHEMA = {
  type: 'object',
  description: 'A request to an HTTP API. ${VAR} in url, headers, query and auth is replaced from the environment.',
  required: ['type', 'url'],
  properties: {
    type: { const: 'http' },
    url: {
      ...TEXT,
      description: 'Such as https://api.example.com/users/{id}: {parameter} may stand in the path; the host is fixed.',
    },
    method: {
      enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      description: 'GET if not given. Parameters go into the body of POST, PUT and PATCH, else into the query.',
    },
    headers: { ...TEXTS, description: 'Sent with every request.' },
    query: { ...TEXTS, description: 'Sent in the query of every request, besides the parameters.' },
    params_mapping: {
      type: 'object',
      additionalProperties: TEXT,
      description:
        'What the API calls a parameter, by its name here. Where there is a mapping, only mapped parameters go into the query.',
    },
    params_in: {
      type: 'object',
      additionalProperties: PLACEMENT,
      description: 'Where parameters go that do not go where they usually would, by name.',
    },
    body: { enum: ['json', 'form', 'text'], description: 'How the body is written; json if not given.' },
    body_param: {
      ...TEXT,
      description: 'The parameter that is the whole body; the others then go into the query.',
    },
    auth: AUTH,
    response_path: { ...JSON_PATH, description: 'What of the answer is kept, as JSONPath; no match gives null.' },
    pick: {
      type: 'array',
      minItems: 1,
      items: TEXT,
      description: 'The keys that are kept of the object, or of each object of the list, that comes back.',
    },
    max_items: { type: 'integer', minimum: 1, description: 'A list is cut after so many.' },
    pagination: PAGINATION,
    timeout_ms: { ...MILLISECONDS, description: 'For one attempt; 10000 if not given.' },
    first_byte_timeout_ms: { ...MILLISECONDS, description: 'Until the answer begins.' },
    max_response_bytes: {
      type: 'integer',
      minimum: 1,
      maximum: 1_073_741_824,
      description: 'A longer answer is refused.',
    },
    retry: {
      type: 'object',
      description: 'Tried again after network errors, 5xx, 429 and 408, where nothing can happen twice by that.',
      required: ['max_attempts'],
      properties: {
        max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
        backoff_ms: { type: 'number', minimum: 0, description: 'Doubled each time; 1000 if not given.' },
      },
    },
    circuit_breaker: {
      type: 'object',
      description: 'A service that fails again and again is left alone for a while.',
      properties: {
        failures: { type: 'integer', minimum: 1, maximum: 1_000, description: 'So many in a row open it.' },
        open_ms: { ...MILLISECONDS, description: 'How long it stays open.' },
      },
    },
    allowed_domains: {
      type: 'array',
      items: TEXT,
      description: 'The only hosts that it may reach, among those that http.allowed_domains has.',
    },
  },
} as const
