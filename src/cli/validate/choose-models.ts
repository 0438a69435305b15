import type { ModelCatalogue } from '../../models/catalogue/model-catalogue.ts'
import type { ModelPrices } from '../../models/catalogue/model-info.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import type { TriedModel } from '../../validation/running/trial.ts'
import { UsageError } from '../usage-error.ts'

/** The model that is there without being configured. */
export const DEMO_MODEL = 'demo:rules'
const FREE: ModelPrices = { input: 0, output: 0 }

/** The models that are named, else all that are configured, else the one that needs nothing. */
export function chooseModels(
  catalogue: ModelCatalogue,
  named: readonly string[] | undefined,
  ownDemo: boolean,
): TriedModel[] {
  const configured = catalogue.list().map(({ id }) => id)
  const real = configured.filter((id) => ownDemo || id !== DEMO_MODEL)
  const ids = named ?? (real.length > 0 ? real : configured)
  try {
    return ids.map((id) => {
      const known = catalogue.info(id).prices
      const prices = id === DEMO_MODEL && !ownDemo ? FREE : known
      return { model: catalogue.get(id), ...(prices !== undefined && { prices }) }
    })
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new UsageError(`${error.message}. "toolyard models" lists the models.`, { cause: error })
  }
}
