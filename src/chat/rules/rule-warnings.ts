import { suggest } from '../../core/suggest.ts'
import { promptVariables } from './prompt-template.ts'
import type { ResponseRule } from './response-rule.ts'

/** What every prompt may name. A profile is open, so a key that some rule matches on is known as well. */
const KNOWN_VARIABLES = ['user_message', 'rag_context', 'intent', 'service', 'topic']

/** What is legal in rules and yet looks like a slip, with its place. */
export function ruleWarnings(rules: readonly ResponseRule[]): { place: string; problem: string }[] {
  const keys = rules.flatMap(({ match }) => Object.keys(match ?? {}))
  const known = new Set([...KNOWN_VARIABLES, ...keys].filter((key) => key !== 'intent_regexp'))
  return rules.flatMap(({ match, prompt }, index) => {
    const place = `responses[${index}]`
    const unknown = [...promptVariables(prompt)].filter((name) => !known.has(name))
    const slips = Object.keys(match ?? {}).filter((key) => key.startsWith('intent_re') && key !== 'intent_regexp')
    return [
      ...unknown.map((name) => ({ place: `${place}.prompt`, problem: unknownVariable(name, known) })),
      ...slips.map((key) => ({
        place: `${place}.match.${key}`,
        problem: `'${key}' is compared with the profile's value: did you mean 'intent_regexp'?`,
      })),
    ]
  })
}

function unknownVariable(name: string, known: ReadonlySet<string>): string {
  const [near] = suggest(name, known)
  const hint = near === undefined ? `known are ${[...known].join(', ')}` : `did you mean '{{${near}}}'?`
  return `'{{${name}}}' is empty unless the profile of a request holds it: ${hint}`
}
