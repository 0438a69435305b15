import type { AuditRow } from '../../../src/core/storage/ledger.ts'
import type { RunStep } from '../../../src/core/storage/run-store.ts'

/** The row of the audit log for each call of a run, by the place of its step. */
export type CallLinks = ReadonlyMap<number, string>

/** Finds the row of each step: the one of the same tool that began at the nearest time. Each row belongs to one step. */
export function callLinks(
  steps: readonly Pick<RunStep, 'type' | 'tool' | 'started_at'>[],
  rows: readonly Pick<AuditRow, 'id' | 'tool' | 'time'>[],
): CallLinks {
  const left = new Set(rows)
  const links = new Map<number, string>()
  for (const [place, { type, tool, started_at }] of steps.entries()) {
    if (type !== 'tool') continue
    const at = Date.parse(started_at)
    const distance = ({ time }: { readonly time: string }) => Math.abs(Date.parse(time) - at)
    const [nearest] = [...left].filter((row) => row.tool === tool).sort((a, b) => distance(a) - distance(b))
    if (nearest === undefined) continue
    left.delete(nearest)
    links.set(place, nearest.id)
  }
  return links
}
