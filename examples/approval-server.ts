// A tool that a person must approve, over HTTP. Run it: npx node -C toolyard-source examples/approval-server.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tool } from 'toolyard'
import { serve } from 'toolyard/server'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refunds a payment.',
  input: z.object({ payment: z.string(), amount: z.number().positive() }),
  approval: { when: { properties: { amount: { minimum: 100 } } }, by: ['admin'] },
  execute: ({ payment, amount }) => ({ payment, refunded: amount }),
})
// Approvals and keys are stored; here only until the program ends.
const folder = await mkdtemp(join(tmpdir(), 'toolyard-approval-'))
const server = await serve({ tools: [refund], port: 0, env: { TOOLYARD_DATA: folder } })

const approval = z.object({ id: z.string() })
const answer = z.object({ key: z.string(), status: z.unknown(), result: z.unknown(), details: z.object({ approval }) })
async function post(path: string, key: string | undefined, body: object) {
  const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
  const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return answer.partial().parse(await response.json())
}

// The first key has all rights. `toolyard keys create` makes keys too.
const admin = await post('/api/keys', undefined, { name: 'ann', role: 'admin' })
const agent = await post('/api/keys', admin.key, { name: 'agent', role: 'user' })
const call = (amount: number, approval_id?: string) =>
  post('/tools/execute', agent.key, { tool_name: 'refund', params: { payment: 'p1', amount }, approval_id })

console.log('20:', (await call(20)).result)
const id = (await call(250)).details?.approval.id
console.log('250 asks:', id !== undefined)
const decision = { decision: 'approve', params: { payment: 'p1', amount: 150 }, reason: 'Not all of it' }
console.log('the agent decides:', (await post(`/api/approvals/${id}`, agent.key, decision)).status)
console.log('ann decides:', (await post(`/api/approvals/${id}`, admin.key, decision)).status)
console.log('250 runs:', (await call(250, id)).result)

await server.close()
await rm(folder, { recursive: true })
