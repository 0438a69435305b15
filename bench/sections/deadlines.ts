import { measureInChild } from '../child.ts'
import { figure } from '../figures.ts'
import type { DeadlinesResult } from '../measures/deadlines.ts'
import type { Section } from '../section.ts'
import { median } from '../statistics.ts'
import { table } from '../table.ts'

/** Whether deadlines are kept, and who waits while they run. */
export const deadlines: Section = {
  id: 'deadlines',
  title: 'Deadlines',
  async run(effort) {
    const times = effort.quick ? 3 : 10
    effort.progress(`${times} of each`)
    const raw = await measureInChild<DeadlinesResult>('deadlines', { times })
    const row = (what: string, values: readonly number[]) => [what, figure(median(values)), figure(Math.max(...values))]
    const rows = [
      row('isolated handler that loops forever, deadline 200 ms: envelope after', raw.looping),
      row('`echo` beside it: longest wait', raw.besideLooping),
      row('async handler that ignores its signal, deadline 100 ms: envelope after', raw.ignoring),
    ]
    return { raw, markdown: table([`ms, ${times} times`, 'median', 'max'], rows) }
  },
}
