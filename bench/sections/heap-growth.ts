import { measureInChild } from '../child.ts'
import { count, figure } from '../figures.ts'
import type { HeapGrowthResult } from '../measures/heap-growth.ts'
import type { Section } from '../section.ts'
import { table } from '../table.ts'

const FULL = { from: 100_000, to: 1_000_000 }
const QUICK = { from: 20_000, to: 100_000 }

/** Whether calls leave anything behind. */
export const heapGrowth: Section = {
  id: 'heap-growth',
  title: 'Heap over many calls',
  async run(effort) {
    const settings = effort.quick ? QUICK : FULL
    effort.progress(`${count(settings.to)} calls`)
    const raw = await measureInChild<HeapGrowthResult>('heap-growth', settings)
    const rows = [
      [`heap after ${count(raw.from)} calls, KB`, figure(raw.atFromBytes / 1024)],
      [`heap after ${count(raw.to)} calls, KB`, figure(raw.atToBytes / 1024)],
      ['bytes left by each call in between', raw.bytesPerCall.toFixed(3)],
    ]
    return { raw, markdown: table(['', 'after collection'], rows) }
  },
}
