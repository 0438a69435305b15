import { EMBEDDED_MODEL, EMBEDDED_PROVIDER } from '../../config/provider-types.ts'
import type { ModelCatalogue } from '../../models/catalogue/model-catalogue.ts'
import type { ModelPrices } from '../../models/catalogue/model-info.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import type { TriedModel } from '../../validation/running/trial.ts'
import { UsageError } from '../usage-error.ts'

/** The model that is there without being configured. */
export const EMBEDDED = `${EMBEDDED_PROVIDER}:${EMBEDDED_MODEL}`
const FREE: ModelPrices = { input: 0, output: 0 }

/** The models that are named, else all that are configured, else the one that needs nothing. */
export function chooseModels(
  catalogue: ModelCatalogue,
  named: readonly string[] | undefined,
  configuredIt: boolean,
): TriedModel[] {
  const configured = catalogue.list().map(({ id }) => id)
  const real = configured.filter((id) => configuredIt || id !== EMBEDDED)
  const ids = named ?? (real.length > 0 ? real : configured)
  try {
    return ids.map((id) => {
      const known = catalogue.info(id).prices
      const prices = id === EMBEDDED && !configuredIt ? FREE : known
      return { model: catalogue.get(id), ...(prices !== undefined && { prices }) }
    })
  } catch (error) {
    if (!(error instanceof UnknownModelError)) throw error
    throw new UsageError(`${error.message}. "toolyard models" lists the models.`, { cause: error })
  }
}
