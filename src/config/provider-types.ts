/** What a provider can speak. */
export const PROVIDER_TYPES = ['openai', 'anthropic', 'gemini', 'ollama', 'llama', 'demo'] as const

/** The provider that needs nothing, and is there without being configured. */
export const DEMO_PROVIDER = 'demo'
