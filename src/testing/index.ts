export { captureLog, type LogLine } from './capture-log.ts'
export { ManualClock } from './manual-clock.ts'
