// The entry of @toolyard/core, which has what this file reaches. `toolyard` exports it too.
export type { Budget, RunAnswer, RunEvent, RunRequest, StopReason, TrackedCall } from '../chat/run.ts'
export type { ToolLoopOptions } from '../chat/tool-loop.ts'
export type { CallContext } from '../core/call-context.ts'
export type { Clock } from '../core/clock.ts'
export type { ToolExecutorOptions } from '../core/execution/runner.ts'
export { ToolExecutor } from '../core/execution/tool-executor.ts'
export { ToolRegistry, type ToolRegistryOptions } from '../core/execution/tool-registry.ts'
export type { LangchainTool, RegisteredTool } from '../core/execution/tool-view.ts'
export type { Handler, HandlerContext, IsolatedHandler, Kind } from '../core/handler.ts'
export { type Log, silentLog } from '../core/log.ts'
export type { CallBatch, CallRecord, RecordSink } from '../core/records/recorder.ts'
export type { ToolFigures } from '../core/records/tool-metrics.ts'
export type { Effect, Implementation, JsonSchema, Params, ToolDefinition } from '../core/tool.ts'
export type {
  FailureExtras,
  MediaPart,
  Problem,
  RequiredParameter,
  ToolFailure,
  ToolResult,
  ToolSuccess,
} from '../core/tool-result.ts'
export { ToolErrorCode, ToolExecutionError } from '../core/tool-result.ts'
export { isolated, ToolHandlers } from '../kinds/tool-handlers.ts'
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
} from '../models/model.ts'
export { ModelError, UnknownModelError } from '../models/model-error.ts'
export type { ModelPrices } from '../models/model-info.ts'
export type { GivenLog } from './log.ts'
export type {
  CallOptions,
  DecideOptions,
  GivenModel,
  GivenTool,
  OutputSchema,
  ResumeOptions,
  RunOptions,
  RunResult,
  ToolyardOptions,
} from './options.ts'
export {
  type AnyTool,
  type InputOf,
  type ObjectSchema,
  type ParsedOf,
  type StandardSchema,
  type Tool,
  type ToolContext,
  type ToolFields,
  type ToolOptions,
  tool,
} from './tool.ts'
export { type CreateToolyard, createToolyard, type RunStream, Toolyard } from './toolyard.ts'
