import type { Described } from '../core/json/described.ts'
import { type Log, silentLog } from '../core/log.ts'
import type { Pattern } from '../core/schema/linear-pattern.ts'
import { suggest } from '../core/suggest.ts'
import { textIn } from '../models/content.ts'
import type { Content, Message } from '../models/model.ts'
import { ruleModelId } from '../models/model-info.ts'
import { intentPattern } from './intent-pattern.ts'
import { RUN_BUDGET_SCHEMA, type RunRequest } from './run.ts'

const VARIABLE = /\{\{\s*([^{}\s]+)\s*\}\}/g

function promptVariables(prompt: string): Set<string> {
  return new Set([...prompt.matchAll(VARIABLE)].map(([, name]) => name as string))
}

/** Replaces variables once: values may contain braces. */
function fillPrompt(prompt: string, values: (name: string) => unknown): string {
  return prompt.replaceAll(VARIABLE, (_, name: string) => asText(values(name)))
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** No rule of `responses` matches the request. */
export class NoResponseRuleError extends Error {
  constructor() {
    super('No response rule matches')
    this.name = 'NoResponseRuleError'
  }
}

/** What the host application knows about the user: `intent`, `service`, `topic` and other keys. */
export type Profile = Readonly<Record<string, unknown>>

export const RULE_SCHEMA = {
  type: 'object',
  required: ['llm', 'model', 'prompt'],
  additionalProperties: false,
  properties: {
    match: {
      type: 'object',
      description: 'All conditions must match. Without it the rule always matches.',
      properties: {
        intent_regexp: { type: 'string', description: 'Like "/(weather|forecast)/i".' },
      },
      additionalProperties: { type: ['string', 'number', 'boolean'] },
    },
    llm: { type: 'string', minLength: 1, description: 'A provider name.' },
    model: { type: 'string', minLength: 1, description: 'The model name without the provider.' },
    prompt: { type: 'string', description: 'The system message; {{name}} is replaced.' },
    max_tokens: { type: 'integer', minimum: 1 },
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    tools: {
      type: 'object',
      additionalProperties: false,
      properties: {
        enabled: { type: 'boolean', description: 'Only true enables tools.' },
        allowed_tools: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          description: 'An empty list allows none. Default: every tool that the caller may use.',
        },
        max_iterations: { type: 'integer', minimum: 1, maximum: 100 },
      },
    },
    budget: RUN_BUDGET_SCHEMA,
  },
} as const

/** An entry of `responses`: which model answers which requests, with which prompt and tools. */
export interface ResponseRule extends Described<typeof RULE_SCHEMA> {
  readonly match?: RuleMatch
}

/** The pattern and all other keys must match the profile. */
interface RuleMatch {
  readonly intent_regexp?: string
  readonly [key: string]: string | number | boolean | undefined
}

/** Profiles are open: keys that a rule matches on are known, too. */
const KNOWN_VARIABLES = ['user_message', 'rag_context', 'intent', 'service', 'topic']

/** Finds valid rules that look like mistakes. */
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
        problem: `'${key}' is compared with the profile: did you mean 'intent_regexp'?`,
      })),
    ]
  })
}

function unknownVariable(name: string, known: ReadonlySet<string>): string {
  const [near] = suggest(name, known)
  const hint = near === undefined ? `use one of ${[...known].join(', ')}` : `did you mean '{{${near}}}'?`
  return `'{{${name}}}' is empty unless the request's profile contains it: ${hint}`
}

interface CompiledRule {
  readonly rule: ResponseRule
  readonly intent: Pattern | undefined
  readonly values: readonly (readonly [key: string, value: unknown])[]
}

/** Names in `allowed_tools` that no tool has. Without names tools are disabled: finds the first rule that uses them. */
export function unknownTools(
  rules: readonly ResponseRule[],
  names: readonly string[] | undefined,
): { readonly place: string; readonly problem: string }[] {
  if (names === undefined) {
    const at = rules.findIndex(({ tools }) => tools?.enabled === true)
    const problem = 'The rule uses tools, but they are disabled: set "tools": {"enabled": true} in the configuration'
    return at < 0 ? [] : [{ place: `responses[${at}].tools`, problem }]
  }
  return rules.flatMap(({ tools }, index) =>
    (tools?.allowed_tools ?? []).flatMap((name, at) => {
      if (names.includes(name)) return []
      const [near] = suggest(name, names)
      const hint = near === undefined ? `known tools are ${names.join(', ') || 'none'}` : `did you mean '${near}'?`
      return [
        { place: `responses[${index}].tools.allowed_tools[${at}]`, problem: `There is no tool '${name}': ${hint}` },
      ]
    }),
  )
}

/** Selects the rule for a request. */
export class ResponseRules {
  readonly #rules: readonly CompiledRule[]

  /** Throws if a pattern is invalid; logs warnings about likely mistakes. */
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

  /** Returns the first matching rule, or throws a `NoResponseRuleError`. */
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

interface Question {
  readonly message: Content
  readonly previousMessages?: readonly Message[]
  readonly profile?: Profile
  /** Searches the documents; called only if the prompt contains `{{rag_context}}`. */
  readonly lookup?: (message: string) => Promise<string>
}

/** Builds the conversation: the rule's prompt, earlier messages, the user's message. */
export async function buildMessages(rule: Pick<ResponseRule, 'prompt'>, question: Question): Promise<Message[]> {
  const { message, previousMessages = [], profile = {}, lookup } = question
  const text = textIn(message)
  const context = promptVariables(rule.prompt).has('rag_context') ? await lookup?.(text) : undefined
  const own: Profile = { user_message: text, rag_context: context }
  const prompt = fillPrompt(rule.prompt, (name) => {
    if (Object.hasOwn(own, name)) return own[name]
    return Object.hasOwn(profile, name) ? profile[name] : undefined
  })
  const system: Message[] = prompt.trim() === '' ? [] : [{ role: 'system', content: prompt }]
  // A program without types may leave the role of the user out.
  const previous = previousMessages.map((one) => (one.role === undefined ? { ...(one as Message), role: 'user' } : one))
  return [...system, ...(previous as Message[]), { role: 'user', content: message }]
}

export type RuleRun = Pick<
  RunRequest,
  'service' | 'allowed_tools' | 'max_iterations' | 'max_tokens' | 'temperature' | 'budget'
> & {
  readonly model_id: string
}

/** Converts a rule to run settings; the loop supplies defaults. */
export function ruleRun(rule: ResponseRule): RuleRun {
  const { llm, tools, max_tokens, temperature, budget } = rule
  const allowed = tools?.enabled === true ? tools.allowed_tools : []
  return {
    model_id: ruleModelId(rule),
    service: llm,
    ...(allowed !== undefined && { allowed_tools: allowed }),
    ...(tools?.max_iterations !== undefined && { max_iterations: tools.max_iterations }),
    ...(max_tokens !== undefined && { max_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(budget !== undefined && { budget }),
  }
}
