import { isObject } from '../../../core/schema/schema-keywords.ts'
import type { OfferedTool } from '../../model.ts'
import { wordsOfName } from '../pair-texts.ts'

/** Of a description the beginning says what a tool is for. */
const LONGEST_DESCRIPTION = 400
const MOST_PARAMETERS = 40
const LONGEST_DETAILS = 600

/** What a tool is found by, from what says most to what says least. */
export interface ToolWords {
  readonly name: string
  readonly description: string
  /** The names of the parameters. */
  readonly parameters: string
  /** What their descriptions say. */
  readonly details: string
}

export const FIELDS = ['name', 'description', 'parameters', 'details'] as const satisfies (keyof ToolWords)[]

export function toolWords({ name, description, parameters: { properties } }: OfferedTool): ToolWords {
  const parameters = isObject(properties) ? Object.entries(properties).slice(0, MOST_PARAMETERS) : []
  return {
    name: wordsOfName(name),
    description: description.slice(0, LONGEST_DESCRIPTION),
    parameters: parameters.map(([key]) => wordsOfName(key)).join(' '),
    details: parameters
      .map(([, one]) => (isObject(one) && typeof one.description === 'string' ? one.description.slice(0, 80) : ''))
      .join(' ')
      .slice(0, LONGEST_DETAILS),
  }
}

const EMPTY = new Set(
  'a an the of in on at to for and or is are be was with by from as it its this that my me i you your we can could would please what which how do does what’s'.split(
    ' ',
  ),
)

/** Words that any sentence has. */
export const isFiller = (word: string): boolean => EMPTY.has(word)
