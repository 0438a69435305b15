export { type CapturedLog, captureLog, type LogLine } from './capture-log.ts'
export { type ContractCase, type KindUnderTest, kindContract } from './kind-contract.ts'
export { ManualClock } from './manual-clock.ts'
