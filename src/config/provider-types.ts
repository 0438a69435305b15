/** What a provider can speak. */
export const PROVIDER_TYPES = ['openai', 'anthropic', 'gemini', 'ollama', 'llama', 'mini'] as const

/** The provider that needs nothing, and is there without being configured. */
export const EMBEDDED_PROVIDER = 'mini'

/** Its model. */
export const EMBEDDED_MODEL = 'v0'

/** Those that Toolyard runs itself: asking them costs nothing. */
export const COST_NOTHING: ReadonlySet<string> = new Set(['llama', EMBEDDED_PROVIDER])

/** Those that choose tools and cannot write a text. */
export const CANNOT_WRITE: ReadonlySet<string> = new Set([EMBEDDED_PROVIDER])

/** What was there before `mini`, and what is said to who still names it. */
export const FORMER_PROVIDER = 'demo'
export const FORMER_PROVIDER_GONE =
  'demo:rules is gone, and mini:v0 took its place: write mini for demo, and v0 for rules.'
