import { type Log, silentLog } from '../../core/log.ts'
import type { Pattern } from '../../core/schema/linear-pattern.ts'
import { suggest } from '../../core/suggest.ts'
import { intentPattern } from './intent-pattern.ts'
import { NoResponseRuleError } from './no-response-rule-error.ts'
import { promptVariables } from './prompt-template.ts'
import type { Profile, ResponseRule } from './response-rule.ts'

/** What every prompt may name. A profile is open, so a key that some rule matches on is known as well. */
const KNOWN_VARIABLES = ['user_message', 'rag_context', 'intent', 'service', 'topic']

/** What is legal in rules and yet looks like a slip, with its place. */
function ruleWarnings(rules: readonly ResponseRule[]): { place: string; problem: string }[] {
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

interface CompiledRule {
  readonly rule: ResponseRule
  readonly intent: Pattern | undefined
  /** What the profile must hold. */
  readonly values: readonly (readonly [key: string, value: unknown])[]
}

/** The rules of `responses`, ready to be asked which of them answers. */
export class ResponseRules {
  readonly #rules: readonly CompiledRule[]

  /** Throws the reason where a pattern is none; warns of what looks like a slip. */
  constructor(rules: readonly ResponseRule[], { log = silentLog }: { readonly log?: Log } = {}) {
    this.#rules = rules.map((rule) => {
      const { intent_regexp, ...values } = rule.match ?? {}
      return {
        rule,
        intent: intent_regexp === undefined ? undefined : intentPattern(intent_regexp),
        values: Object.entries(values),
      }
    })
    for (const { place, problem } of ruleWarnings(rules)) {
      log.warn({ place, problem }, 'Response rule loaded with a warning')
    }
  }

  /** The first rule that matches; throws a `NoResponseRuleError` where none does. */
  match(profile: Profile, message: string): ResponseRule {
    const found = this.#rules.find((rule) => matches(rule, profile, message))
    if (found === undefined) throw new NoResponseRuleError()
    return found.rule
  }
}

function matches({ intent, values }: CompiledRule, profile: Profile, message: string): boolean {
  if (!values.every(([key, value]) => profile[key] === value)) return false
  const named = typeof profile.intent === 'string' ? profile.intent.trim() : ''
  return intent === undefined || intent.test(named === '' ? message : named)
}
