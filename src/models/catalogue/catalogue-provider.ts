import type { Model } from '../model.ts'
import type { ListedModel } from '../provider.ts'

/** What the catalogue needs of a provider. */
export interface CatalogueProvider {
  /** The first part of its models' ids. */
  readonly name: string
  model(name: string): Model
  /** What it really has; absent where it cannot say. */
  list?(signal: AbortSignal): Promise<ListedModel[]>
  close?(): Promise<void>
}
