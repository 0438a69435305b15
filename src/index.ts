export { createLog } from './app/create-log.ts'
export type { LoadReport } from './app/load-definitions.ts'
export type { Parts } from './app/tool-manager.ts'
export { ToolManager } from './app/tool-manager.ts'
export { Chat, type ChatRequest } from './chat/chat.ts'
export type { Profile, ResponseRule } from './chat/response-rules.ts'
export { NoResponseRuleError } from './chat/response-rules.ts'
export type { Budget, RunAnswer, RunEvent, RunRequest, StopReason, TrackedCall } from './chat/run.ts'
export { ToolLoop, type ToolLoopOptions } from './chat/tool-loop.ts'
export { ConfigError } from './config/check-config.ts'
export type { Config } from './config/config.ts'
export { loadConfigFile } from './config/load-config.ts'
export type { CallContext } from './core/call-context.ts'
export type { Clock } from './core/clock.ts'
export type { ToolExecutorOptions } from './core/execution/runner.ts'
export { ToolExecutor } from './core/execution/tool-executor.ts'
export { ToolRegistry, type ToolRegistryOptions } from './core/execution/tool-registry.ts'
export type { LangchainTool, RegisteredTool } from './core/execution/tool-view.ts'
export type { Handler, HandlerContext, IsolatedHandler, Kind } from './core/handler.ts'
export { type Log, silentLog } from './core/log.ts'
export type { CallBatch, CallRecord, RecordSink } from './core/recorder.ts'
export type { ModelTest, ModelValidation, StoredValidation, ValidationStore } from './core/storage/validation-store.ts'
export type { Effect, Implementation, JsonSchema, Params, ToolDefinition } from './core/tool.ts'
export type { ToolFigures } from './core/tool-metrics.ts'
export type {
  FailureExtras,
  MediaPart,
  Problem,
  RequiredParameter,
  ToolFailure,
  ToolResult,
  ToolSuccess,
} from './core/tool-result.ts'
export { ToolErrorCode, ToolExecutionError } from './core/tool-result.ts'
export { ProcessPool } from './isolation/process-pool.ts'
export { kinds } from './kinds/kinds.ts'
export { type HandedTool, toLangChain } from './kinds/to-langchain.ts'
export { isolated, ToolHandlers } from './kinds/tool-handlers.ts'
export { aiSdkModel } from './models/ai-sdk/ai-sdk-model.ts'
export { langchainModel } from './models/langchain/langchain-model.ts'
export type {
  AcceptedMedia,
  AssistantMessage,
  Content,
  FinishReason,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  OfferedTool,
  Part,
  ToolCall,
  Usage,
} from './models/model.ts'
export { ModelCatalogue } from './models/model-catalogue.ts'
export { ModelError, UnknownModelError } from './models/model-error.ts'
export type { ModelInfo, ModelPrices } from './models/model-info.ts'
export type { ProviderSettings } from './models/provider.ts'
export {
  AnthropicClient,
  GeminiClient,
  OllamaClient,
  OpenAIClient,
  openProvider,
} from './models/providers/open-provider.ts'
export { type ChatOptions, type ChatReply, generateChat, ProviderClient } from './models/providers/provider-client.ts'
export { openTelemetryTracer } from './telemetry/otel-tracer.ts'
export {
  ModelValidationError,
  ModelValidationTracker,
  type ModelValidationTrackerOptions,
} from './validation/model-validation.ts'
