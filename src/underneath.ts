// Everything that takes longer to load than the core. `toolyard` loads it on demand, `toolyard/server` at once.
export { createLog } from './app/tools/create-log.ts'
export { ToolManager } from './app/tools/tool-manager.ts'
export { Chat } from './chat/chat.ts'
export { NoResponseRuleError } from './chat/response-rules.ts'
export { ToolLoop } from './chat/tool-loop.ts'
export { ConfigError } from './config/check-config.ts'
export { loadConfigFile } from './config/load-config.ts'
export { ProcessPool } from './isolation/process-pool.ts'
export { ToolHandlers } from './kinds/builtin/shipped.ts'
export { kinds } from './kinds/kinds.ts'
export { aiSdkModel } from './models/ai-sdk/ai-sdk-model.ts'
export { langchainModel } from './models/langchain/langchain-model.ts'
export { ModelCatalogue } from './models/model-catalogue.ts'
export {
  AnthropicClient,
  GeminiClient,
  OllamaClient,
  OpenAIClient,
  openProvider,
} from './models/providers/open-provider.ts'
export { generateChat, ProviderClient } from './models/providers/provider-client.ts'
export { openTelemetryTracer } from './telemetry/otel-tracer.ts'
export { ModelValidationError, ModelValidationTracker } from './validation/model-validation.ts'
