export { Chat, type ChatRequest } from './chat/chat.ts'
export { NoResponseRuleError } from './chat/rules/no-response-rule-error.ts'
export type { Profile, ResponseRule } from './chat/rules/response-rule.ts'
export type { Budget, RunAnswer, RunEvent, RunRequest, StopReason, TrackedCall } from './chat/run.ts'
export { ToolLoop, type ToolLoopOptions } from './chat/tool-loop.ts'
export type { Parts } from './config/assemble.ts'
export { ConfigError } from './config/check-config.ts'
export type { Config } from './config/config.ts'
export { createLog } from './config/create-log.ts'
export { loadConfigFile } from './config/load-config.ts'
export type { LoadReport } from './config/load-definitions.ts'
export { ToolManager } from './config/tool-manager.ts'
export type { CallContext } from './core/call-context.ts'
export type { Clock } from './core/clock.ts'
export type { Handler, HandlerContext, IsolatedHandler } from './core/handler.ts'
export type { Kind } from './core/kind.ts'
export { type Log, silentLog } from './core/log.ts'
export type { CallBatch, CallRecord, RecordSink } from './core/recorder.ts'
export type { ModelTest, ModelValidation, StoredValidation, ValidationStore } from './core/storage/validation-store.ts'
export type { Effect, Implementation, JsonSchema, Params, ToolDefinition } from './core/tool.ts'
export { ToolErrorCode } from './core/tool-error-code.ts'
export { ToolExecutionError } from './core/tool-execution-error.ts'
export { ToolExecutor } from './core/tool-executor.ts'
export type { ToolExecutorOptions } from './core/tool-executor-options.ts'
export type { ToolFigures } from './core/tool-metrics.ts'
export { ToolRegistry, type ToolRegistryOptions } from './core/tool-registry.ts'
export type {
  FailureExtras,
  Problem,
  RequiredParameter,
  ToolFailure,
  ToolResult,
  ToolSuccess,
} from './core/tool-result.ts'
export type { LangchainTool, RegisteredTool } from './core/tool-view.ts'
export { ProcessPool } from './isolation/process-pool.ts'
export { kinds } from './kinds/kinds.ts'
export { type HandedTool, toLangChain } from './kinds/to-langchain.ts'
export { isolated, ToolHandlers } from './kinds/tool-handlers.ts'
export { aiSdkModel } from './models/ai-sdk/ai-sdk-model.ts'
export { ModelCatalogue } from './models/catalogue/model-catalogue.ts'
export type { ModelInfo, ModelPrices } from './models/catalogue/model-info.ts'
export { UnknownModelError } from './models/catalogue/unknown-model-error.ts'
export { type ChatOptions, type ChatReply, generateChat } from './models/generate-chat.ts'
export { langchainModel } from './models/langchain/langchain-model.ts'
export type {
  AssistantMessage,
  FinishReason,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  OfferedTool,
  ToolCall,
  Usage,
} from './models/model.ts'
export { ModelError } from './models/model-error.ts'
export { openProvider } from './models/open-provider.ts'
export type { ProviderSettings } from './models/provider.ts'
export { ProviderClient } from './models/provider-client.ts'
export { openTelemetryTracer } from './telemetry/open-telemetry-tracer.ts'
export { ModelValidationError } from './validation/model-validation.ts'
export { ModelValidationTracker, type ModelValidationTrackerOptions } from './validation/model-validation-tracker.ts'
