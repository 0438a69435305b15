import type { Model } from '../model.ts'
import type { ModelScores } from '../model-scores.ts'
import type { ListedModel } from '../provider.ts'
import type { ModelInfo } from './model-info.ts'

/** What the catalogue needs of a provider. */
export interface CatalogueProvider {
  /** The first part of its models' ids. */
  readonly name: string
  model(name: string, settings?: Pick<ModelInfo, 'printed_calls'>): Model
  /** What it really has; absent where it cannot say. */
  list?(signal: AbortSignal): Promise<ListedModel[]>
  /** What one of its models was measured to do, where that comes with it. */
  scores?(model: string): Promise<ModelScores | undefined>
  close?(): Promise<void>
}
