/** What a provider can speak. */
export const PROVIDER_TYPES = ['openai', 'anthropic', 'gemini', 'ollama', 'llama', 'mini', 'demo'] as const

/** The provider that needs nothing, and is there without being configured. */
export const DEMO_PROVIDER = 'demo'

/** Those that run in this process: asking them costs nothing. */
export const IN_PROCESS: ReadonlySet<string> = new Set(['llama', 'mini', DEMO_PROVIDER])

/** Those that choose tools and cannot write a text. */
export const CANNOT_WRITE: ReadonlySet<string> = new Set([DEMO_PROVIDER, 'mini'])
