import type { LocalModel } from './local-model.ts'

/** The packages are optional, so their types aren't available. */
interface Engine {
  createEmbedder(options: { readonly model: unknown }): Promise<LoadedEngine>
}

interface LoadedEngine {
  embed(texts: string[]): Promise<number[][]>
}

interface EmbedTextParams extends Pick<LocalModel, 'engine' | 'weights'> {
  readonly text: string
}

let loading: Promise<LoadedEngine> | undefined

/** Embeds one text in a child process. */
export async function embedText({ engine, weights, text }: EmbedTextParams): Promise<number[]> {
  loading ??= load(engine, weights).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  const [vector] = await (await loading).embed([text])
  return vector ?? []
}

async function load(engine: string, weights: string): Promise<LoadedEngine> {
  const { createEmbedder }: Engine = await import(engine)
  const { default: model }: { readonly default: unknown } = await import(weights)
  return createEmbedder({ model })
}
