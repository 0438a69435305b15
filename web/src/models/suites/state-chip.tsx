import type { ListedSuiteRun } from '../../../../src/server/http/views.ts'
import { Chip } from '../../parts/states.tsx'

const STATES = {
  queued: { tone: 'plain', word: 'waiting' },
  running: { tone: 'plain', word: 'running' },
  done: { tone: 'good', word: 'done' },
  cancelled: { tone: 'warn', word: 'cancelled' },
} as const

/** The state of a suite run. */
export function StateChip({ run: { state, error } }: { readonly run: Pick<ListedSuiteRun, 'state' | 'error'> }) {
  if (error !== null) return <Chip tone="bad">failed</Chip>
  return <Chip tone={STATES[state].tone}>{STATES[state].word}</Chip>
}
