import type { OfferedTool } from '../../model.ts'
import { wordsOfName } from '../pair-texts.ts'

/** "is the lamp on?" wants to know, and not to have it changed. "can you turn it on?" is a wish. */
const ASKS_HOW_IT_IS = /^(?:is|are|was|were|does|did|has|have|isn't|aren't)\b/i
const WANTS_GONE = /^(?:please\s+)?(?:delete|remove|erase|wipe|destroy|purge|drop)\b/i
const REMOVES =
  /\b(?:delet|remov|eras|wip|destroy|purg|drop|clear|cancel|uninstall|unsubscrib|manag|control|execut|run|edit|updat)/i
/** What the name or the description of a tool that changes something begins with. */
const CHANGES =
  /^(?:add|adjust|book|buy|cancel|change|clear|close|control|create|delete|disable|enable|lock|make|move|open|order|pause|pay|play|post|publish|put|remove|rename|reset|save|schedule|send|set|start|stop|switch|transfer|trigger|turn|unlock|update|upload|write)(?:e?s)?\b/i

/** The tools that come into question: who asks how something is gets nothing changed, and who wants it gone nothing made. */
export function toolsToAsk(said: string, tools: readonly OfferedTool[]): readonly OfferedTool[] {
  const text = said.trim()
  if (ASKS_HOW_IT_IS.test(text)) return tools.filter((tool) => !changes(tool))
  return WANTS_GONE.test(text) ? tools.filter((tool) => !changes(tool) || removes(tool)) : tools
}

const removes = ({ name, description }: OfferedTool): boolean => REMOVES.test(`${wordsOfName(name)} ${description}`)

/** Whether a tool changes something, as its name or its description says. */
export const changes = ({ name, description }: OfferedTool): boolean =>
  CHANGES.test(wordsOfName(name)) || CHANGES.test(description)
