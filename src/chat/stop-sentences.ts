import type { StopReason } from './run.ts'

export const LIMIT_REACHED = 'I reached the maximum number of tool calls. Please try rephrasing your request.'
export const NO_ANSWER = 'I encountered an issue processing your request.'

/** What a run says where its model has not answered. */
export function stopSentence(reason: StopReason, limit: string | undefined): string {
  switch (reason) {
    case 'max_iterations':
      return LIMIT_REACHED
    case 'repeated_calls':
      return 'I kept making the same tool calls without getting further. Please try rephrasing your request.'
    case 'timeout':
    case 'budget':
      return `I reached ${limit} before I could finish. Please ask for less at a time, or raise the limit.`
    case 'cancelled':
      return 'The request was cancelled before I could finish.'
    default:
      return NO_ANSWER
  }
}
