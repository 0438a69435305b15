import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { splitModelId } from '../../models/catalogue/split-model-id.ts'
import { ModelError } from '../../models/model-error.ts'
import { dataFolder } from '../../models/model-files/model-folder.ts'
import type { ProviderSettings, ProviderSurroundings } from '../../models/provider.ts'
import type { Embedder } from './embedder.ts'
import { embeddingWires } from './embedding-wires.ts'
import { LocalEmbedder } from './local/local-embedder.ts'
import { findLocalModel, LOCAL_MODEL, LOCAL_PROVIDER } from './local/local-model.ts'
import { knownDimensions, ProviderEmbedder } from './provider-embedder.ts'

export interface OpenEmbedderOptions extends Partial<ProviderSurroundings> {
  /** The same that models are asked by. */
  readonly providers?: readonly ProviderSettings[]
  /** Where the local model is looked for first. */
  readonly dataFolder?: string
  readonly signal?: AbortSignal
}

const LOCAL_ID = `${LOCAL_PROVIDER}:${LOCAL_MODEL}`

/**
 * Opens an embedding model by `provider:model`, or `local:minilm-l6-v2` for the one that runs on this machine. Rejects
 * with a `ModelError` that says what it lacks. Only a model whose dimensions are not known is asked something for that.
 */
export async function openEmbedder(id: string, options: OpenEmbedderOptions = {}): Promise<Embedder> {
  const { providers = [], log = silentLog, clock = systemClock, signal } = options
  const parts = splitModelId(id)
  if (parts === undefined) {
    throw new ModelError(`'${id}' is no embedding model: it is written provider:model, as in ${LOCAL_ID}.`)
  }
  const settings = providers.find(({ name }) => name === parts.provider)
  if (settings === undefined && parts.provider === LOCAL_PROVIDER) {
    return openLocal(parts.model, options)
  }
  if (settings === undefined) {
    const names = [...providers.map(({ name }) => name), LOCAL_PROVIDER].join(', ')
    throw new ModelError(`There is no provider '${parts.provider}' for ${id} (there are: ${names}).`)
  }
  const make = Object.hasOwn(embeddingWires, settings.type) ? embeddingWires[settings.type] : undefined
  if (make === undefined) {
    const types = Object.keys(embeddingWires).join(', ')
    throw new ModelError(
      `The provider ${parts.provider} (${settings.type}) has no embedding models. Take one of type ${types}, or ${LOCAL_ID}.`,
    )
  }
  const wire = await make(settings, { log, clock })
  // Servers that speak the language of OpenAI may give a known name to another model.
  const dimensions = settings.type === 'openai' && settings.base_url ? undefined : knownDimensions(parts.model)
  return ProviderEmbedder.open(settings, parts.model, wire, { log, clock, dimensions, ...(signal && { signal }) })
}

function openLocal(model: string, { dataFolder: data = dataFolder(), log = silentLog }: OpenEmbedderOptions): Embedder {
  if (model !== LOCAL_MODEL) {
    throw new ModelError(`There is no local embedding model '${model}': there is ${LOCAL_ID}.`)
  }
  const found = findLocalModel(data)
  if (found === undefined) {
    throw new ModelError(`The embedding model ${LOCAL_ID} is not installed. Fetch it: toolyard models add-embeddings`)
  }
  return new LocalEmbedder(found, { log })
}
