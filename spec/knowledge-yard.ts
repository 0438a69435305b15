import { type Model, ToolHandlers } from 'toolyard'
import { type GivenTurn, ManualClock, scripted } from 'toolyard/testing'
import { registerKnowledgeTools } from '../src/knowledge/tools/register-knowledge-tools.ts'
import { configured } from './yard.ts'

/** A yard without a single configured tool, over a model that gives these replies, one a question. */
export const replying = (...replies: readonly GivenTurn[]) => knowledgeYard(scripted(...replies))

/** A yard without a single configured tool, over this model. */
export async function knowledgeYard<Asked extends Model>(model: Asked) {
  const handlers = new ToolHandlers()
  const yard = await configured([], { handlers })
  const clock = new ManualClock()
  registerKnowledgeTools(yard.registry, handlers, { model: async () => model, clock })
  return { ...yard, model, clock }
}
