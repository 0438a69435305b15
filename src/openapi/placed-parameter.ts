import type { ParameterStyle, Place } from '../kinds/http/definition/http-implementation.ts'
import type { SchemaPart } from './schema-part.ts'

/** A parameter, and where it goes under which name. */
export interface PlacedParameter {
  /** What the API calls it. */
  readonly apiName: string
  readonly place: Place
  readonly part: SchemaPart
  readonly required: boolean
  readonly description?: string
  readonly deprecated?: boolean
  readonly example?: unknown
  readonly style?: ParameterStyle
  readonly explode?: boolean
  /** Whether it is the body rather than a part of it. */
  readonly isBody?: boolean
}
