import type { AuditRow } from '../../../src/core/storage/ledger.ts'
import { Chip } from './states.tsx'

const TONES = { success: 'good', failure: 'bad', unknown: 'warn' } as const

/** The outcome of a call. */
export const OutcomeChip = ({ outcome, error_code }: Pick<AuditRow, 'outcome' | 'error_code'>) => (
  <Chip tone={TONES[outcome]}>{error_code ?? outcome}</Chip>
)
