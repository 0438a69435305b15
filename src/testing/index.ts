export { assertFailure, assertSuccess, type EnvelopeMatchers, envelopeMatchers } from './envelopes.ts'
export { type ContractCase, type KindUnderTest, kindContract } from './kind-contract.ts'
export { type ModelUnderTest, modelContract } from './model-contract.ts'
export {
  modelScript,
  type ScriptedAnswer,
  type ScriptedTurn,
  scriptedAnswer,
  scriptedTools,
} from './model-script.ts'
export {
  type CallRecording,
  type CapturedLog,
  captureLog,
  type GivenAnswer,
  type GivenCall,
  type GivenTurn,
  type LogLine,
  ManualClock,
  type RecordedCall,
  recordCalls,
  type ScriptedModel,
  scripted,
  type WordEmbedder,
  type WordEmbedderOptions,
  wordEmbedder,
} from './stand-ins.ts'
