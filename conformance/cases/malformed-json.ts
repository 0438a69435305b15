import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { tool } from '../probe.ts'
import { toldAndGoesOn } from './told-and-goes-on.ts'

export const malformedJson: Case = {
  id: 'malformed-json',
  title: 'Arguments that are not JSON are reported to the model, and the run continues',
  why: 'One missing bracket after twenty good turns, and the whole run is lost.',
  thread: 'mastra-ai/mastra#13261',
  needs: ['loop'],
  async run(probe) {
    const got: string[] = []
    const save = tool('save', (params) => got.push(JSON.stringify(params)) && 'saved', {
      properties: { text: { type: 'string' } },
    })
    const runtime = await probe.start({ tools: [save] })
    const call = { id: 'call_1', name: 'save', arguments: '{"text": "hel' }
    await toldAndGoesOn(probe.loopOf(runtime), [call], 'a call with broken JSON')
    expect(got.length === 0, `The tool was run with ${got[0]}, which nobody sent`)
  },
}
