import type { ParameterStyle } from '../kinds/http/definition/http-implementation.ts'
import type { Raw, RawObject } from './raw.ts'

/** One operation of the document, not yet looked into. */
export interface ApiOperation {
  /** In capitals. */
  readonly method: string
  readonly path: string
  /** How it is called in reports: `GET /users/{id}`. */
  readonly label: string
  readonly operation: Raw & { readonly value: RawObject }
  /** What it stands in. */
  readonly pathItem: Raw & { readonly value: RawObject }
}

/** A parameter outside the body. */
export interface ApiParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required: boolean
  readonly schema: Raw
  readonly description?: string
  readonly deprecated?: boolean
  readonly example?: unknown
  /** Only where it is not the usual one of its place. */
  readonly style?: ParameterStyle
  readonly explode?: boolean
  /** The type of content that it is sent as, where it is a text of that. */
  readonly mediaType?: string
}

/** A body, in each form that the API takes. */
export interface ApiBody {
  readonly required: boolean
  readonly description?: string
  readonly content: readonly ApiContent[]
}

export interface ApiContent {
  readonly mediaType: string
  readonly schema?: Raw
  /** How some of its properties are written in a form. */
  readonly encoding: RawObject
}

/** Says what differs from the document; it ends up in the report. */
export type TakeNote = (note: string) => void

/** One version of the format: where it has what. All of these throw `Unmappable`. */
export interface ApiReader {
  readonly parameters: (operation: ApiOperation, note: TakeNote) => ApiParameter[]
  readonly body: (operation: ApiOperation, note: TakeNote) => ApiBody | undefined
  /** What a success is answered with, as media types; empty where nothing is said. */
  readonly answers: (operation: ApiOperation, note: TakeNote) => string[]
  /** Addresses, absolute or relative, with their variables filled in; empty where none is named. */
  readonly servers: (operation: ApiOperation) => string[]
  /** By name, in the form that OpenAPI 3 has for them. */
  readonly securitySchemes: ReadonlyMap<string, RawObject>
}
