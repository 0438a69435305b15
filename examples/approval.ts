// A write that a person approves. Run it: npx node -C toolyard-source examples/approval.ts
import { mkdtempSync } from 'node:fs'
import { createToolyard, tool } from 'toolyard'
import { scripted } from 'toolyard/testing'

const refund = tool({
  name: 'refund',
  description: 'Refund a payment.',
  input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  approval: true,
  execute: ({ amount }) => ({ refunded: amount }),
})
// Use '.toolyard', or the address of a PostgreSQL database.
const storage = mkdtempSync('/tmp/toolyard-')
const model = scripted({ calls: [{ name: 'refund', arguments: { amount: 120 } }] }, 'I refunded 60.')
await using yard = await createToolyard({ tools: [refund], storage, models: { clerk: model } })

const { status, run_id, approvals } = await yard.run({ model: 'clerk', prompt: 'Refund payment p1.' })
console.log(status, approvals?.[0]?.params)
// Later, perhaps in another process: a person approves less.
await yard.decide(approvals?.[0]?.id ?? '', { decision: 'approve', params: { amount: 60 }, by: 'olga' })
const { content, tool_calls } = await yard.resume(run_id ?? '')
console.log(content, tool_calls[0]?.result)
