import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { type GivenTurn, scripted } from '../testing/stand-ins.ts'
import { createToolyard } from './configured.ts'
import { createToolyard as createLight } from './index.ts'
import { tool } from './tool.ts'

const input = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } as const
const call = { calls: [{ name: 'pay', arguments: { amount: 120 } }] }

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-library-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Toolyards over one store, as processes would open it one after the other. */
async function opened(storage: string, turns: readonly GivenTurn[], permissions: string[] = []) {
  const execute = vi.fn(({ amount }: { amount: number }) => ({ paid: amount }))
  const pay = tool({ name: 'pay', description: 'Pays.', input, approval: true, permissions, execute })
  const model = scripted(...turns)
  const yard = await createToolyard({ tools: [pay], storage, models: { m: model } })
  onTestFinished(() => yard.close())
  return { yard, model, execute }
}

test('a resumed run checks its output against the stored JSON Schema', async () => {
  const folder = await newFolder()
  const output = z.object({ paid: z.number().refine((n) => n > 0) })
  const first = await opened(folder, [call])
  const { run_id = '', approvals: [{ id = '' } = {}] = [] } = await first.yard.run({
    model: 'm',
    prompt: 'Pay',
    output,
  })
  await first.yard.close()
  const second = await opened(folder, ['It is paid.', '{"paid": 120}'])
  await second.yard.decide(id, { decision: 'approve' })
  expect((await second.yard.resume(run_id)).output).toEqual({ paid: 120 })
})

test('run gives a waiting answer, and resume goes on in another process when the call is approved', async () => {
  const folder = await newFolder()
  const first = await opened(folder, [call], ['payments'])
  const caller = { tenant: 'acme', flags: { payments: true } }
  const waiting = await first.yard.run({ model: 'm', prompt: 'Pay', user: 'ada', ...caller })
  expect(waiting).toMatchObject({ status: 'waiting', stop_reason: 'approval_required', approvals: [{ tool: 'pay' }] })
  const { run_id = '', approvals: [{ id = '' } = {}] = [] } = waiting
  expect(await first.yard.resume(run_id, caller)).toMatchObject({ status: 'waiting', run_id })
  await first.yard.close()

  const second = await opened(folder, ['It is paid.'], ['payments'])
  const own = second.yard.decide(id, { decision: 'approve', tenant: 'acme', by: 'ada' })
  await expect(own).rejects.toThrow('The caller that asked may not decide')
  await second.yard.decide(id, { decision: 'approve', params: { amount: 60 }, tenant: 'acme', by: 'olga' })
  await expect(second.yard.decide(id, { decision: 'reject', tenant: 'acme' })).rejects.toThrow("by 'olga'")
  expect(await second.yard.resume(run_id, caller)).toMatchObject({
    content: 'It is paid.',
    tool_calls: [{ result: { success: true, result: { paid: 60 } } }],
  })
  expect((await second.yard.resume(run_id, caller)).content).toBe('It is paid.')
  expect([first.execute.mock.calls.length, second.execute.mock.calls.length]).toEqual([0, 1])
})

test('resume uses the flags of now, and a rejected call is told to the model', async () => {
  const { yard, execute, model } = await opened(await newFolder(), [call, call, 'Done.', 'Done.'], ['payments'])
  const start = async () => {
    const { run_id = '', approvals = [] } = await yard.run({ model: 'm', prompt: 'Pay', flags: { payments: true } })
    return { run_id, approval: approvals[0]?.id ?? '' }
  }
  const [one, other] = [await start(), await start()]
  await expect(yard.decide(one.approval, { decision: 'yes' as 'approve' })).rejects.toThrow('must be approve or reject')
  await yard.decide(one.approval, { decision: 'approve' })
  await yard.decide(other.approval, { decision: 'reject', reason: 'Not now' })
  const answers = [await yard.resume(one.run_id), await yard.resume(other.run_id, { flags: { payments: true } })]
  expect(answers.map(({ tool_calls }) => tool_calls[0]?.result)).toMatchObject([
    { error_code: 'TOOL_NOT_FOUND' },
    { error_code: 'PERMISSION_DENIED', error: expect.stringContaining('Not now') },
  ])
  expect([execute.mock.calls.length, model.requests.length]).toEqual([0, 4])
})

test.each(['before', 'after'])(
  'a call of a run whose tool changed %s it was decided does not run, and is asked for again',
  async (when) => {
    const ran: string[] = []
    const open = async (storage: string, execute: () => unknown, turns: readonly GivenTurn[]) => {
      const pay = tool({ name: 'pay', description: 'Pays.', input, approval: true, execute })
      const yard = await createToolyard({ tools: [pay], storage, models: { m: scripted(...turns) } })
      onTestFinished(() => yard.close())
      return yard
    }
    const folder = await newFolder()
    const first = await open(folder, () => ran.push('former'), [call])
    const { run_id = '', approvals: [{ id = '' } = {}] = [] } = await first.run({ model: 'm', prompt: 'Pay' })
    if (when === 'after') await first.decide(id, { decision: 'approve' })
    await first.close()
    const second = await open(folder, () => ran.push('new'), [call, 'It is paid.'])
    if (when === 'before') {
      await expect(second.decide(id, { decision: 'approve' })).rejects.toThrow(
        "Tool 'pay', or a tool that it calls, has changed since the approval was asked for: reject it",
      )
      await second.decide(id, { decision: 'reject' })
    }
    const again = await second.resume(run_id)
    expect(again).toMatchObject({ status: 'waiting', approvals: [{ tool: 'pay' }] })
    const next = again.approvals?.[0]?.id ?? ''
    expect(next).not.toBe(id)
    await second.decide(next, { decision: 'approve' })
    const { content, tool_calls } = await second.resume(run_id)
    const reason = when === 'after' ? 'has changed since the approval was asked for' : 'was rejected'
    expect(tool_calls.map(({ result }) => result)).toMatchObject([
      { error_code: 'PERMISSION_DENIED', error: expect.stringContaining(reason) },
      { success: true },
    ])
    expect([content, ran]).toEqual(['It is paid.', ['new']])
  },
)

test('a durable run has the id that it was given, so that another process can continue it', async () => {
  const folder = await newFolder()
  const { yard } = await opened(folder, [call])
  const runId = randomUUID()
  const ask = (options: { durable?: boolean; runId?: string }) => yard.run({ model: 'm', prompt: 'Pay', ...options })
  await expect(ask({ runId })).rejects.toThrow('runId needs durable: true')
  await expect(ask({ runId: 'r1', durable: true })).rejects.toThrow('runId must be a UUID')
  expect(await ask({ runId, durable: true })).toMatchObject({ status: 'waiting', run_id: runId })
  await expect(ask({ runId, durable: true })).rejects.toThrow(`The run '${runId}' was started before`)
  await yard.close()
  expect(await (await opened(folder, [])).yard.resume(runId)).toMatchObject({ status: 'waiting', run_id: runId })
})

test('a durable run is stored, and a direct call runs with its approval', async () => {
  const { yard, execute } = await opened(await newFolder(), ['Hello.'])
  expect(await yard.run({ model: 'm', prompt: 'Hello', durable: true })).toMatchObject({ content: 'Hello.' })
  const asked = await yard.call('pay', { amount: 1 })
  const { id: approvalId = '' } = (!asked.success && asked.details?.approval) || {}
  await yard.decide(approvalId, { decision: 'approve' })
  expect(await yard.call('pay', { amount: 1 }, { approvalId })).toMatchObject({ success: true })
  expect(execute).toHaveBeenCalledTimes(1)
})

test.each([
  [
    'a circular value',
    () => {
      const content: unknown[] = []
      content.push({ type: 'text', text: content })
      return content
    },
  ],
  ['a BigInt', () => [{ type: 'text', text: 1n }]],
])('a durable run with %s in its messages is refused by its name', async (_, made) => {
  const { yard, model } = await opened(await newFolder(), ['Hi'])
  const messages = [{ role: 'user', content: made() }] as never
  await expect(yard.run({ model: 'm', messages, durable: true })).rejects.toThrow(
    'A durable run is stored as JSON, and its request has a circular value, a BigInt or a toJSON() that throws',
  )
  expect(model.requests).toEqual([])
})

test('without storage nothing is written, and approval, durable and budgets are refused', async () => {
  const folder = await newFolder()
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(before))
  const look = tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 'seen' })
  const pay = tool({ name: 'pay', description: 'Pays.', input, approval: true, execute: () => 1 })
  for (const create of [createLight, createToolyard]) {
    await expect(create({ tools: [pay] })).rejects.toThrow("Tool 'pay' needs approval, and approvals need a store")
    const yard = await create({ tools: [look], models: { m: scripted('Hello.') } })
    await yard.call('look', {})
    await expect(yard.run({ model: 'm', prompt: 'Hi', durable: true })).rejects.toThrow('durable needs a store')
    await expect(yard.resume('r')).rejects.toThrow('resume needs a store')
    await yard.close()
  }
  const budgets = [{ scope: 'tenant', per: 'day', amount: 1 }] as const
  await expect(createToolyard({ config: { budgets } })).rejects.toThrow('budgets of the config needs a store')
  await expect(createLight({ tools: [look], storage: folder })).rejects.toThrow('storage needs the package toolyard')
  expect(await readdir(folder)).toEqual([])
})

test('a store needs no configuration for the usual providers', async () => {
  vi.stubEnv('OPENAI_API_KEY', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { yard } = await opened(await newFolder(), [])
  const error = expect.stringContaining('OPENAI_API_KEY is not set')
  expect(await yard.run({ model: 'openai:gpt-5', prompt: 'Hi' })).toMatchObject({ stop_reason: 'error', error })
  await expect(yard.run({ model: 'openia:gpt-5', prompt: 'Hi' })).rejects.toThrow('Did you mean "openai"?')
})

test('storage is a folder that can be written, or the address of a PostgreSQL database', async () => {
  await expect(createToolyard({ storage: 'mysql://127.0.0.1/shop' })).rejects.toThrow(
    'storage must be a folder, or an address postgres://…, not mysql://…',
  )
  const file = join(await newFolder(), 'file')
  await writeFile(file, '')
  await expect(createToolyard({ storage: file })).rejects.toThrow(`storage "${file}" can't be used`)
})
