import type { OfferedTool } from '../base/port.ts'
import { wordsOfName } from '../base/tool-text.ts'
import { operationsOf } from '../choose/operations.ts'
import { readParameters } from '../fill/parameter.ts'

const MAX_NAMED = 8

/** What is said of itself: what this is, and what it can do here. */
export function about(tools: readonly OfferedTool[], id: string): string {
  return `I am ${id}, a small model that calls tools; I am no language model and write no texts of my own. ${offered(tools)}`
}

/** What is said where no tool is meant: so much, and what there is. */
export function noTool(tools: readonly OfferedTool[], id: string): string {
  if (tools.length === 0) return about(tools, id)
  return `I know no tool for that. ${about(tools, id)}`
}

function offered(tools: readonly OfferedTool[]): string {
  if (tools.length === 0) return 'No tools are offered to me here. Configure a language model for anything else.'
  const named = tools.slice(0, MAX_NAMED).map((tool) => `- ${wordsOfName(tool.name)}${whatFor(tool)}`)
  const more = tools.length > MAX_NAMED ? `\n- and ${tools.length - MAX_NAMED} more` : ''
  return `Here I can use:\n\n${named.join('\n')}${more}\n\nSay it in a sentence, with the names, places and numbers that it needs. For anything else configure a language model.`
}

/** The beginning of its description, or the things that it does. */
function whatFor({ description, parameters }: OfferedTool): string {
  const first = /^[^.:;\n]{1,100}/.exec(description)?.[0].trim() ?? ''
  const operations = operationsOf(readParameters(parameters)).map(({ option }) => option)
  const does = operations.length > 0 ? ` (${operations.join(', ')})` : ''
  return first === '' ? does : `: ${first}${does}`
}
