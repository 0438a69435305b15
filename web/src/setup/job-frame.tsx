import type { ReactNode } from 'react'
import type { SetupState } from './setup-queries.ts'

/** Props of every job. */
export interface JobProps {
  readonly setup: SetupState
}

/** The form of a job beside the change that it makes. */
export const JobFrame = ({ form, change }: { readonly form: ReactNode; readonly change: ReactNode }) => (
  <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
    <div className="panel grid min-w-0 grid-cols-1 gap-4 p-4">{form}</div>
    {change}
  </div>
)
