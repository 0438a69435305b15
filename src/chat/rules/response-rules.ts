import { type Log, silentLog } from '../../core/log.ts'
import type { Pattern } from '../../core/schema/linear-pattern.ts'
import { intentPattern } from './intent-pattern.ts'
import { NoResponseRuleError } from './no-response-rule-error.ts'
import type { Profile, ResponseRule } from './response-rule.ts'
import { ruleWarnings } from './rule-warnings.ts'

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
