import { embeddingWires } from '../knowledge/embedding/embedding-wires.ts'
import { LOCAL_PROVIDER } from '../knowledge/embedding/local/local-model.ts'
import { splitModelId } from '../models/catalogue/split-model-id.ts'
import type { Config } from './config.ts'
import { NO_EMBEDDER, typeOf } from './knowledge-settings.ts'
import { modelProblem } from './model-problem.ts'
import { CANNOT_WRITE } from './provider-types.ts'

/** What is wrong with `knowledge`; `known` are the providers. */
export function knowledgeProblems(config: Config, known: readonly string[]): string[] {
  const { model, embedder } = config.knowledge ?? {}
  return [
    ...(model === undefined ? [] : (modelProblem(model, 'knowledge.model', known) ?? cannotWrite(config, model))),
    ...(embedder === undefined || embedder === NO_EMBEDDER ? [] : embedderProblems(config, embedder, known)),
  ]
}

function cannotWrite(config: Config, model: string): string[] {
  if (!CANNOT_WRITE.has(typeOf(config, model) ?? '')) return []
  return [`knowledge.model '${model}' follows rules and cannot write: name a language model.`]
}

function embedderProblems(config: Config, embedder: string, known: readonly string[]): string[] {
  const place = 'knowledge.embedder'
  const problems = modelProblem(embedder, place, [...known, LOCAL_PROVIDER])
  if (problems !== undefined) return problems
  const provider = splitModelId(embedder)?.provider ?? ''
  if (provider === LOCAL_PROVIDER && !known.includes(LOCAL_PROVIDER)) return []
  const types = Object.keys(embeddingWires)
  if (types.includes(typeOf(config, embedder) ?? '')) return []
  return [`${place} '${embedder}': ${provider} has no embedding models; take a provider of type ${types.join(', ')}.`]
}
