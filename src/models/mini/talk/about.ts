import type { OfferedTool } from '../../model.ts'
import { wordsOfName } from '../pair-texts.ts'

const MOST_NAMED = 6

/** What is said where nothing can be done: what this is, and what it can do here. */
export function about(tools: readonly OfferedTool[], id: string): string {
  const what = `I am ${id}, a small model that calls tools; I am no language model and write no texts of my own.`
  if (tools.length === 0)
    return `${what} No tools are offered to me here. Configure a language model for anything else.`
  const named = tools.slice(0, MOST_NAMED).map(({ name, description }) => {
    const first = /^[^.:;\n]{1,100}/.exec(description)?.[0].trim() ?? ''
    return first === '' ? wordsOfName(name) : `${wordsOfName(name)} (${first})`
  })
  const more = tools.length > MOST_NAMED ? `, and ${tools.length - MOST_NAMED} more` : ''
  return `${what} Here I can use: ${named.join('; ')}${more}. Say it with the details a tool needs, or configure a language model for anything else.`
}
