import type { OfferedTool } from '../../model.ts'
import { readParameters } from '../fill/parameter.ts'
import { takesWholeText } from '../values/whole-text.ts'

const HOW_TO =
  /^(?:(?:hi|hello|hey|ok|so|and|but)[\s,]+)*(?:how (?:do|can|could|would|should) (?:i|we|you|one)|how to|how does|where (?:do|can) (?:i|we)|where is)\s+\S/i
const ANSWERS =
  /^(?:search|look|find|answer|query|get)\b[^.]{0,80}\b(?:documentation|docs|manual|handbook|knowledge base)\b/i

/** A search of documentation, with the parameter that takes a question. */
export interface HelpTool {
  readonly tool: OfferedTool
  readonly parameter: string
}

/** Where a question of how to do something goes that no other tool is meant for: the documentation, if it can be searched. */
export function helpTool(said: string, tools: readonly OfferedTool[]): HelpTool | undefined {
  if (!HOW_TO.test(said.trim())) return undefined
  for (const tool of tools) {
    const [only, ...others] = readParameters(tool.parameters).filter(({ required }) => required)
    const takes = only?.kind === 'text' && takesWholeText(only.name, only.description)
    if (takes && others.length === 0 && ANSWERS.test(tool.description)) return { tool, parameter: only.name }
  }
  return undefined
}
