import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AuditRow } from '../../core/storage/ledger.ts'
import { installationFolder } from '../fixtures/installation-folder.ts'
import { CALCULATE } from '../fixtures/toolyard.ts'

const PAY = {
  name: 'pay',
  description: 'Pays',
  parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
  implementation: { type: 'mock', mock_response: 'paid' },
  effect: 'write',
  approval: true,
}

test('a call on the command line waits for "toolyard approvals", and runs once', async () => {
  const { toolyard, data } = await installationFolder({ tools: { enabled: true, registry: [PAY] } })
  const json = async (...args: string[]) => JSON.parse((await toolyard(...args, '--json')).out)
  expect((await toolyard('check', '--strict')).err).toBe('Checked the configuration with 1 tool: no problems.\n')
  expect((await toolyard('tools')).out).toBe('pay  mock  write  Pays\n')
  expect(existsSync(data)).toBe(false)
  expect((await toolyard('approvals', 'list')).err).toBe('No pending approvals.\n')
  expect((await toolyard('approvals', 'approve', 'none')).err).toContain("There is no approval with the id 'none'")

  const asked = await json('exec', 'pay', 'amount=5')
  const { id } = asked.details.approval
  expect(asked.error_code).toBe('APPROVAL_REQUIRED')
  expect((await toolyard('exec', 'pay', 'amount=5')).err).toContain(`"toolyard approvals approve ${id}" approves it.`)
  expect((await toolyard('approvals', 'list')).out).toMatch(
    new RegExp(`${id} +pending +local +local +pay +{"amount":5}`),
  )

  const wrong = await toolyard('approvals', 'approve', id, '--params', '{"amount":"much"}')
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('amount')])
  expect((await toolyard('approvals', 'approve', id, '--params', '{"amount":3}')).out).toBe(`Approved ${id}\n`)
  expect((await json('approvals', 'list', '--status', 'approved')).approvals).toMatchObject([
    { id, params: { amount: 5 }, approved_params: { amount: 3 } },
  ])
  const second = await toolyard('approvals', 'reject', id)
  expect([second.code, second.err]).toEqual([2, expect.stringContaining('was approved by')])
  expect((await toolyard('exec', 'pay', 'amount=5', '--approval', id)).out).toBe('paid\n')
  expect((await toolyard('exec', 'pay', 'amount=5', '--approval', id)).out).toBe('paid\n')

  const other = (await json('exec', 'pay', 'amount=6')).details.approval.id
  expect((await json('approvals', 'reject', other, '--reason', 'No')).status).toBe('rejected')
  expect((await toolyard('exec', 'pay', 'amount=6', '--approval', other)).err).toContain('was rejected: No')
  const { rows } = await json('audit', 'list', '--type', 'event')
  const decided = rows.filter(({ event }: AuditRow) => event === 'approval.decided')
  expect(decided.map(({ subject, caller, source }: AuditRow) => [subject, caller, source])).toEqual([
    [other, 'local', 'cli'],
    [id, 'local', 'cli'],
  ])
})

test('a chat whose call needs approval says how to approve it, and its run waits for a server', async () => {
  const config = { tools: { enabled: true, registry: [{ ...CALCULATE, approval: true }] } }
  const { toolyard } = await installationFolder(config)
  await toolyard('keys', 'create')
  const { code, out, err } = await toolyard('chat', 'What is 20% of 80?', '--model', 'mini:v1')
  expect([code, out]).toEqual([1, 'I am waiting for approval before I can go on.\n'])
  const [, id = ''] =
    err.match(/^\? calculate \{"expression":"80 \* 0\.2"\}\n {2}"toolyard approvals approve (\S+)"/m) ?? []
  expect((await toolyard('approvals', 'list')).out).toContain(id)
  expect(err).toContain('"toolyard serve"')
})
