const NAMES =
  /\b(?:query|question|prompt|message|utterance|input|search|search term|keywords?|request|statement|content|text|description|command|q)\b/
const WORD_FOR_WORD =
  /word for word|verbatim|as (?:it )?(?:is|was) (?:said|written|given)|(?:user|customer|person)(?:'s|’s)? (?:message|query|question|input|request|utterance|text)|(?:message|query|question|input|request|utterance) (?:of|from|by) the (?:user|customer)/i
const POLITE =
  /^(?:(?:please|hey|hi|hello|ok|okay|now|so|can you|could you|would you|will you|i want(?: you)? to|i(?:'d| would) like(?: you)? to|i need(?: you)? to|let['’]s|help me(?: to)?)[\s,]+)+/i
const COMMAND =
  /^(?:(?:do a |run a )?(?:web )?search(?:es)?(?: (?:the )?(?:web|internet|docs|documentation|handbook|online))?(?: for| about| on)?|look(?: for| up)?|google|find(?: out)?(?: me)?(?: about)?|tell me(?: about)?|show me|what do (?:you|we) know about|(?:generate|create|make|draw|paint|give)(?: me)? (?:an? |the |some |\w+ )?(?:[\w-]+ )?(?:image|picture|drawing|painting|photo|illustration|pic)s? (?:of|with|showing|that shows)|(?:run|execute)(?: the)?(?: command)?|ask(?: about| for)?|query|check)[\s:]+/i
const LAST_WORD = /(?<=[\s,])(?:for me|please|pls|thanks|thank you)$/i
/** With the space before it. */
const LONGEST_LAST_WORD = 10
const LONGEST = 600

/** Whether a parameter takes what a person wants to have searched, drawn or answered: a text of any length. */
export const takesWholeText = (name: string, description: string): boolean =>
  NAMES.test(
    name
      .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
      .replaceAll(/[_-]+/g, ' ')
      .toLowerCase(),
  ) || WORD_FOR_WORD.test(description)

/** What of a sentence goes into such a parameter: all of it, or what stands after the words that only ask for it. */
export function wholeText(description: string, said: string): string | undefined {
  const text = said.trim()
  if (text.length > LONGEST) return undefined
  if (WORD_FOR_WORD.test(description)) return text
  const wanted = text.replace(POLITE, '')
  const command = COMMAND.exec(wanted)
  return (
    (command === null
      ? text
      : withoutLastWords(wanted.slice(command[0].length).replace(/(?<![.!?])[.!?]+$/, ''))
    ).trim() || undefined
  )
}

/** Takes polite words off the end one by one: a pattern for all of them would start over at each. */
function withoutLastWords(text: string): string {
  let rest = text
  for (let word = LAST_WORD.exec(rest.slice(-LONGEST_LAST_WORD)); word !== null; ) {
    rest = rest.slice(0, -word[0].length).replace(/(?<![\s,])[\s,]+$/, '')
    word = LAST_WORD.exec(rest.slice(-LONGEST_LAST_WORD))
  }
  return rest
}
