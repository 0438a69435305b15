import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { GRACE_MS, tool } from '../probe.ts'
import { settle, settleWith } from '../settle.ts'

const WRONG = ['{}', '{"city":5,"days":1}', '{"city":"Paris","days":99}', '["Paris",1]']

export const invalidArguments: Case = {
  id: 'invalid-arguments',
  title: 'Arguments that violate the schema never reach the tool',
  why: 'The model leaves out the filter, and the tool deletes everything.',
  thread: 'XiaomiMiMo/MiMo-Code#1800',
  needs: [],
  async run(probe) {
    const got: string[] = []
    const parameters = {
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
      required: ['city', 'days'],
    }
    const forecast = tool('forecast', (params) => got.push(JSON.stringify(params)) && 'sunny', parameters)
    const runtime = await probe.start({ tools: [forecast] })
    for (const args of WRONG) {
      await settle(runtime.call('forecast', args), 2 * GRACE_MS, `A call with ${args}`)
      expect(got.length === 0, `The tool was run with ${got[0]}`)
    }
    await settleWith(runtime.call('forecast', '{"city":"Paris","days":3}'), 'sunny', 2 * GRACE_MS, 'A valid call')
  },
}
