import { systemClock } from '../../core/clock.ts'
import type { Model } from '../model.ts'
import { type AiSdkLanguageModel, askAiSdk } from './ask-ai-sdk.ts'

/** Any language model of the AI SDK (specification v2, v3 or v4) as a model of ours; `id` is `provider:model` by default. */
export function aiSdkModel(model: AiSdkLanguageModel, id = `${model.provider.split('.')[0]}:${model.modelId}`): Model {
  const openai = model.provider.startsWith('openai')
  const manner = { marksFailures: !openai, systemAnywhere: openai, clock: systemClock, secrets: [] }
  return { id, stream: (request) => askAiSdk(model, request, { ...manner, declaresUsedTools: usesAnthropic(model) }) }
}

const usesAnthropic = ({ provider, modelId }: AiSdkLanguageModel): boolean =>
  /anthropic|claude/i.test(provider + modelId)
