import { suggest } from '../core/suggest.ts'
import { splitModelId } from '../models/catalogue/split-model-id.ts'
import { FORMER_PROVIDER, FORMER_PROVIDER_GONE } from './provider-types.ts'

/** What is wrong with the id of a model at that place of the configuration; undefined where nothing is. */
export function modelProblem(id: string, place: string, known: readonly string[]): string[] | undefined {
  const parts = splitModelId(id)
  if (parts === undefined) return [`${place} '${id}' names no provider: write it as provider:model.`]
  const problems = providerNotFound(parts.provider, place, known)
  return problems.length > 0 ? problems : undefined
}

/** Says so where there is no provider of that name. */
export function providerNotFound(name: string, place: string, known: readonly string[]): string[] {
  if (known.includes(name)) return []
  if (name === FORMER_PROVIDER) return [`${place}: ${FORMER_PROVIDER_GONE}`]
  const [near] = suggest(name, known)
  const fix = near === undefined ? `add it to providers (known: ${known.join(', ')}).` : `did you mean '${near}'?`
  return [`${place}: Provider ${name} not found: ${fix}`]
}
