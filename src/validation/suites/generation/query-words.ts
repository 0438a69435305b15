import type { Params, ToolDefinition } from '../../../core/tool.ts'
import { wordsOf } from './sample-text.ts'

const LONGEST_PURPOSE = 200

/** What a person says who wants no tool to be used. */
const IRRELEVANT = [
  'Thank you, that was all for today.',
  'Good morning! How are you?',
  'Please tell me in one sentence why people like music.',
  'What does it mean to be patient? A few words are enough.',
]

/** What a tool is for: the first sentence of its description, without markup; its name in words where that is empty. */
export function purposeOf({ name, description }: ToolDefinition): string {
  const plain = description
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/[#*`\s]+/g, ' ')
    .trim()
  const [sentence = ''] = /^.*?[.!?](?=\s|$)/.exec(plain) ?? [plain]
  const words = sentence === '' ? wordsOf(name).join(' ') : sentence
  const short = words.length > LONGEST_PURPOSE ? `${words.slice(0, LONGEST_PURPOSE - 1).trimEnd()}…` : words
  return /[.!?…]$/.test(short) ? short : `${short}.`
}

/** The values of parameters as a person would dictate them: `Set city to "Paris" and days to 3.`; empty without any. */
export function valuesInWords(params: Params): string {
  const said = Object.entries(params).map(([name, value]) => `${name} to ${JSON.stringify(value)}`)
  const last = said.pop()
  if (last === undefined) return ''
  return ` Set ${said.length === 0 ? last : `${said.join(', ')} and ${last}`}.`
}

/** A question that has nothing to do with a tool: the one that shares the fewest words with it. */
export function irrelevantQuery({ name, description }: ToolDefinition): string {
  const known = new Set([...wordsOf(name), ...wordsOf(description)].filter((word) => word.length > 3))
  const shared = IRRELEVANT.map((query) => wordsOf(query).filter((word) => known.has(word)).length)
  const fewest = IRRELEVANT.filter((_query, at) => shared[at] === Math.min(...shared))
  return fewest[name.length % fewest.length] as string
}
