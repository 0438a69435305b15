export { type CapturedLog, captureLog, type LogLine } from './capture-log.ts'
export { type ContractCase, type KindUnderTest, kindContract } from './kind-contract.ts'
export { ManualClock } from './manual-clock.ts'
export { type ModelUnderTest, modelContract } from './model-contract.ts'
export {
  modelScript,
  type ScriptedAnswer,
  type ScriptedTurn,
  scriptedAnswer,
  scriptedTools,
} from './model-script.ts'
export { type GivenAnswer, type GivenCall, type GivenTurn, type ScriptedModel, scripted } from './scripted-model.ts'
export { type WordEmbedder, type WordEmbedderOptions, wordEmbedder } from './word-embedder.ts'
