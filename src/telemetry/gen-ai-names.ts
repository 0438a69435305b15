/**
 * The version of the conventions. The repository `open-telemetry/semantic-conventions-genai` has no releases yet, so
 * this is a commit. All names are in this file, to be changed together.
 */
export const GEN_AI_CONVENTIONS = {
  commit: '06ec68e722c45a7218e23ea1bc1339fe4e21ecae',
  date: '2026-10-07',
  schemaUrl: 'https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev',
} as const

/** Attributes of spans and metrics. The conventions have no name for those under `toolyard.`. */
export const ATTRIBUTE = {
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  cost: 'toolyard.cost',
  errorType: 'error.type',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  operationName: 'gen_ai.operation.name',
  outputTokens: 'gen_ai.usage.output_tokens',
  providerName: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  tenant: 'toolyard.tenant',
  tokenModality: 'gen_ai.token.modality',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallId: 'gen_ai.tool.call.id',
  toolCallResult: 'gen_ai.tool.call.result',
  toolName: 'gen_ai.tool.name',
} as const

const UP_TO_82_S = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const UP_TO_410_S = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]

export const DURATION = {
  execute_tool: {
    name: 'gen_ai.execute_tool.duration',
    description: 'The duration of a single tool execution.',
    buckets: UP_TO_82_S,
  },
  chat: {
    name: 'gen_ai.client.inference.duration',
    description: "The duration of a model's turn.",
    buckets: UP_TO_82_S,
  },
  invoke_agent: {
    name: 'gen_ai.invoke_agent.duration',
    description: 'The duration of a run, from the question to the answer.',
    buckets: UP_TO_410_S,
  },
} as const

export const TOKENS = {
  input: { name: 'gen_ai.client.inference.usage.input_tokens', description: 'Tokens sent to models.' },
  output: { name: 'gen_ai.client.inference.usage.output_tokens', description: 'Tokens received from models.' },
} as const

/** Providers don't report tokens by modality. */
export const UNKNOWN_MODALITY = 'unknown'

/** Providers that have another name in the conventions. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['gemini', 'gcp.gemini'],
  ['google', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['mistral', 'mistral_ai'],
  ['moonshot', 'moonshot_ai'],
  ['xai', 'x_ai'],
])
const NO_PROVIDER = 'unknown'

/** Attributes for a model id (`provider:model`, split at the first colon). */
export function modelAttributes(id: string): Record<string, string> {
  const colon = id.indexOf(':')
  const provider = colon > 0 ? id.slice(0, colon) : NO_PROVIDER
  return {
    [ATTRIBUTE.providerName]: PROVIDERS.get(provider) ?? provider,
    [ATTRIBUTE.requestModel]: modelName(id),
  }
}

export const modelName = (id: string): string => id.slice(id.indexOf(':') + 1)
