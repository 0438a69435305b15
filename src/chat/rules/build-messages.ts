import type { Message } from '../../models/model.ts'
import { fillPrompt, promptVariables } from './prompt-template.ts'
import type { Profile, ResponseRule } from './response-rule.ts'

/** One question, and what is known around it. */
export interface Question {
  readonly message: string
  readonly previousMessages?: readonly Message[]
  readonly profile?: Profile
  /** Finds what the documents say about a message; asked only where the prompt names `{{rag_context}}`. */
  readonly lookup?: (message: string) => Promise<string>
}

/** The messages of a run by a rule: its prompt as the system's, then what was said before, then the user's. */
export async function buildMessages(rule: Pick<ResponseRule, 'prompt'>, question: Question): Promise<Message[]> {
  const { message, previousMessages = [], profile = {}, lookup } = question
  const context = promptVariables(rule.prompt).has('rag_context') ? await lookup?.(message) : undefined
  const own: Profile = { user_message: message, rag_context: context }
  const prompt = fillPrompt(rule.prompt, (name) => {
    if (Object.hasOwn(own, name)) return own[name]
    return Object.hasOwn(profile, name) ? profile[name] : undefined
  })
  const system: Message[] = prompt.trim() === '' ? [] : [{ role: 'system', content: prompt }]
  return [...system, ...previousMessages, { role: 'user', content: message }]
}
