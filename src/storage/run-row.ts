import type { StoredRun } from '../core/storage/run-store.ts'

/** A run as both engines give it: what is no plain value as JSON text. */
export type RunRow = Omit<StoredRun, 'steps' | 'gate' | 'recording'> & {
  readonly steps: string
  readonly gate: string | null
  readonly recording: string | null
}

export function fromRunRow({ steps, gate, recording, ...run }: RunRow): StoredRun {
  return {
    ...run,
    steps: JSON.parse(steps),
    ...(gate !== null && { gate: JSON.parse(gate) }),
    ...(recording !== null && { recording }),
  }
}
