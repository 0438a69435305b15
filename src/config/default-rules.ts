import { TRIAL_PROMPT } from '../chat/chat.ts'
import type { ResponseRule } from '../chat/rules/response-rule.ts'
import { splitModelId } from '../models/catalogue/split-model-id.ts'
import type { Config } from './config.ts'
import { configuredModels } from './configured-models.ts'

/** Who answers where `responses` is absent: the first model that takes tools, which is `mini:v0` where there is no other. */
export function defaultRules(config: Config): ResponseRule[] {
  const models = configuredModels(config)
  const first = models.find(({ capabilities }) => capabilities.includes('function-calling')) ?? models[0]
  const id = splitModelId(first?.id ?? '')
  return id === undefined ? [] : [{ llm: id.provider, model: id.model, prompt: TRIAL_PROMPT, tools: { enabled: true } }]
}
