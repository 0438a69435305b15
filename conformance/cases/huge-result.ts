import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { GRACE_MS, tool } from '../probe.ts'
import { settle } from '../settle.ts'

const MB = 1024 * 1024
const RESULT_MB = 32
/** About a million tokens: more than any model reads. */
const MOST_MB = 4

export const hugeResult: Case = {
  id: 'huge-result',
  title: 'A result that is too large for the model is not sent to it',
  why: 'A tool returns a whole log, the provider rejects the request, and the turn is lost.',
  thread: 'charmbracelet/crush#3480',
  needs: [],
  async run(probe) {
    let runs = 0
    const log = tool('read_log', () => ++runs && 'x'.repeat(RESULT_MB * MB))
    const runtime = await probe.start({ tools: [log] })
    const { value = '' } = await settle(runtime.call('read_log', '{}'), 5 * GRACE_MS, 'The call')
    expect(runs > 0, 'The tool was not run')
    const mb = Math.round(value.length / MB)
    expect(value.length <= MOST_MB * MB, `The model was handed ${mb} MB`)
  },
}
