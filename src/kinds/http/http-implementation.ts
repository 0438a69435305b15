import type { Implementation } from '../../core/tool.ts'

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
