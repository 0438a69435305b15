import type { RunRequest } from '../run.ts'
import type { ResponseRule } from './response-rule.ts'

/** What a rule says of the run that it answers with. */
export type RuleRun = Pick<
  RunRequest,
  'service' | 'allowed_tools' | 'max_iterations' | 'max_tokens' | 'temperature' | 'budget'
> & {
  /** `provider:model`. */
  readonly model_id: string
}

/** Makes a rule's settings those of a run; what it does not name is the loop's to decide. */
export function ruleRun(rule: ResponseRule): RuleRun {
  const { llm, model, tools, max_tokens, temperature, budget } = rule
  const allowed = tools?.enabled === true ? tools.allowed_tools : []
  return {
    model_id: model.startsWith(`${llm}:`) ? model : `${llm}:${model}`,
    service: llm,
    ...(allowed !== undefined && { allowed_tools: allowed }),
    ...(tools?.max_iterations !== undefined && { max_iterations: tools.max_iterations }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(budget !== undefined && { budget }),
  }
}
