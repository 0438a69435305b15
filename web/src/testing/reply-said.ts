import { plainText } from '../parts/markdown.ts'
import { excerpt } from '../parts/shortened.ts'
import type { Reply } from './threads.ts'

const MOST_CHARACTERS = 300

/** What screen readers say when a reply has ended or waits. Empty while it runs. Models may answer side by side. */
export function replySaid(reply: Reply, model: string): string {
  const text = outcomeOf(reply)
  return text === '' ? '' : `${model}: ${excerpt(text, MOST_CHARACTERS)}`
}

function outcomeOf({ status, answer, problem }: Reply): string {
  if (status === 'running') return ''
  if (status === 'waiting') return `Approval required for ${answer?.approvals?.map(({ tool }) => tool).join(', ')}.`
  const fault = problem ?? answer?.error
  if (fault !== undefined) return status === 'cancelled' ? fault : `Failed. ${fault}`
  return plainText(answer?.content ?? '') || 'The answer is empty.'
}
