import { chosen } from '../chosen.ts'
import { loopContenders } from '../loop-contenders/index.ts'
import { toolyard, toolyardTold } from '../loop-contenders/toolyard.ts'
import type { Finding, Section } from '../section.ts'
import { againstHandWritten } from './loop-against-hand-written.ts'
import { withMoreTools } from './loop-with-more-tools.ts'
import { withMoreTurns } from './loop-with-more-turns.ts'

/** What a conversation between a model and its tools costs beside the model. */
export const loop: Section = {
  id: 'loop',
  title: 'The loop',
  async run(effort) {
    const loops = chosen(loopContenders, effort.contenders)
    const findings: Finding[] = [await againstHandWritten(loops, effort)]
    if (loops.includes(toolyard)) findings.push(await withMoreTurns([toolyard], effort))
    const growing = loops.filter((each) => each !== toolyardTold)
    if (growing.length > 0) findings.push(await withMoreTools(growing, effort))
    return {
      raw: findings.map(({ raw }) => raw),
      markdown: findings.map(({ markdown }) => markdown).join('\n\n'),
    }
  },
}
