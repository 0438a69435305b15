import { measureInChild } from '../child.ts'
import { count, figure } from '../figures.ts'
import type { MiniResult } from '../measures/mini.ts'
import { withFormerMini } from '../mini/former-version.ts'
import type { Section } from '../section.ts'
import { table } from '../table.ts'

const FULL = { tools: [1, 16, 1_000], queries: 100, batch: 16 }
const QUICK = { tools: [1, 16, 1_000], queries: 10, batch: 16 }
/** On a busy machine a question takes seconds. */
const LONGEST_MS = 1_800_000

/** How long the model in the box takes, and what it holds. */
export const mini: Section = {
  id: 'mini',
  title: 'The model in the box',
  async run(effort) {
    const settings = effort.quick ? QUICK : FULL
    effort.progress('asking')
    const raw = await measureInChild<MiniResult>('mini', settings, LONGEST_MS)
    effort.progress('asking version 0')
    const former = await withFormerMini((root) => measureInChild<MiniResult>('mini', settings, LONGEST_MS, root))
    const rows = raw.rows.map(({ tools, p50Ms, p99Ms }, at) => {
      const before = former?.rows[at]?.p50Ms
      const compared = before === undefined ? ['not measured', ''] : [figure(before), (p50Ms / before).toFixed(2)]
      return [count(tools), figure(p50Ms), figure(p99Ms), ...compared]
    })
    const was = (value: number | undefined, unit: string): string =>
      former === undefined ? '' : ` (version 0: ${value === undefined ? 'unknown' : `${figure(value)} ${unit}`})`
    const child = raw.childMb === undefined ? 'an unknown amount' : `${figure(raw.childMb)} MB`
    return {
      raw: { ...raw, former },
      markdown:
        `${table(['offered tools', 'a question, p50 ms', 'p99 ms', 'version 0, p50 ms', 'share of its time'], rows)}\n\n` +
        `${settings.queries} questions each, in sequence. ${settings.batch} concurrent questions, each with one tool: ` +
        `${figure(raw.batchMs)} ms for all${was(former?.batchMs, 'ms')}. The first question, including loading the model: ` +
        `${figure(raw.firstMs)} ms${was(former?.firstMs, 'ms')}; with the model already loaded by an earlier question: ` +
        `${figure(raw.firstWarmMs)} ms. The process of the model uses ${child}${was(former?.childMb, 'MB')}, ` +
        `the asking process ${figure(raw.parentMb)} MB.`,
    }
  },
}
