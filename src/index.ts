// Importing this loads no server, no MCP, no telemetry and no model package: `toolyard/server` does.

export type { Parts } from './app/tools/assemble.ts'
export type { LoadReport } from './app/tools/load-definitions.ts'
export type { ChatRequest } from './chat/chat.ts'
export type { Profile, ResponseRule } from './chat/response-rules.ts'
export type { Config } from './config/config.ts'
export type { ModelTest, ModelValidation, StoredValidation, ValidationStore } from './core/storage/validation-store.ts'
export { createToolyard } from './library/configured.ts'
export * from './library/index.ts'
export { type HandedTool, toLangChain } from './library/to-langchain.ts'
export type { ModelInfo } from './models/model-info.ts'
export type { ProviderSettings } from './models/provider.ts'
export type { ChatOptions, ChatReply } from './models/providers/provider-client.ts'
export {
  AnthropicClient,
  aiSdkModel,
  Chat,
  ConfigError,
  createLog,
  GeminiClient,
  generateChat,
  kinds,
  langchainModel,
  loadConfigFile,
  ModelCatalogue,
  ModelValidationError,
  ModelValidationTracker,
  NoResponseRuleError,
  OllamaClient,
  OpenAIClient,
  openProvider,
  openTelemetryTracer,
  ProcessPool,
  ProviderClient,
  ToolHandlers,
  ToolLoop,
  ToolManager,
} from './on-demand.ts'
export type { ModelValidationTrackerOptions } from './validation/model-validation.ts'
