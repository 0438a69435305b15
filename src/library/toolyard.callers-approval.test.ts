import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ToolExecutionError, ToolResult } from '../core/tool-result.ts'
import { toAiSdk } from './ai-sdk.ts'
import { createToolyard } from './configured.ts'
import { tool } from './tool.ts'

/** The session of a framework. */
const session = new AsyncLocalStorage<string>()
const as = <Value>(user: string, work: () => Value): Value => session.run(user, work)
const NONE = { type: 'object', properties: {} } as const
const described = (name: string) => ({ name, description: name, input: NONE })

/** Tools that take their user from the session, over a store. */
async function open() {
  const storage = await mkdtemp(join(tmpdir(), 'toolyard-callers-'))
  onTestFinished(() => rm(storage, { recursive: true, force: true }))
  const ran: string[] = []
  const run = (what: string) => () => {
    ran.push(`${what} ${session.getStore()}`)
    return `${what} ${session.getStore()}`
  }
  const pay = tool({ ...described('pay'), approval: true, execute: run('paid') })
  const refund = tool({ ...described('refund'), approval: true, execute: run('refunded') })
  const mine = tool({ ...described('mine'), effect: 'read', execute: run('orders of') })
  const greet = tool({ ...described('greet'), approval: true, shared: true, execute: () => 'hello' })
  const clerk = tool({ ...described('clerk'), execute: (_input, { call }) => call('pay', {}) })
  const $ = (path: string) => ({ $: path })
  const order = {
    ...{ name: 'order', description: 'Orders.', parameters: NONE },
    implementation: {
      type: 'pipeline',
      steps: [
        { id: 'mine', tool: 'mine', params: {} },
        { id: 'paid', tool: 'pay', params: { after: $('$.steps.mine') } },
        { id: 'back', tool: 'refund', params: { after: $('$.steps.mine') } },
      ],
      output: { mine: $('$.steps.mine'), paid: $('$.steps.paid'), back: $('$.steps.back') },
    },
  }
  const config = { tools: { registry: [order] } }
  const yard = await createToolyard({ tools: [pay, refund, mine, greet, clerk], storage, config: config as never })
  onTestFinished(() => yard.close())
  const call = (name: string, options: object = {}) => yard.call(name, {}, options) as Promise<ToolResult<unknown>>
  return {
    yard,
    ran,
    call,
    /** The approval that a call asks for. */
    async ask(name: string, options?: object): Promise<string> {
      const result = await call(name, options)
      const inner = result.success ? (result.result as ToolResult<unknown>) : result
      if (inner.success || inner.details?.approval === undefined) throw new Error(JSON.stringify(result))
      return inner.details.approval.id
    },
    approve: (...ids: string[]) => Promise.all(ids.map((id) => yard.decide(id, { decision: 'approve', by: 'olga' }))),
  }
}

test('two users who are not stated get approvals of their own, and each runs once', async () => {
  const { ask, approve, call, ran } = await open()
  const ada = await as('ada', () => ask('pay'))
  const bob = await as('bob', () => ask('pay'))
  expect(bob).not.toBe(ada)
  await approve(ada, bob)
  expect(await as('ada', () => call('pay', { approvalId: ada }))).toMatchObject({ result: 'paid ada' })
  expect(await as('bob', () => call('pay', { approvalId: bob }))).toMatchObject({ result: 'paid bob' })
  // The program names the approval: it holds.
  expect(await as('ada', () => call('pay', { approvalId: ada }))).toMatchObject({ result: 'paid ada' })
  expect(ran).toEqual(['paid ada', 'paid bob'])
})

test('an approval that does not exist, or of another caller, is refused by a tool that needs none', async () => {
  const { ask, call, ran } = await open()
  const ada = await ask('pay', { user: 'ada' })
  for (const approvalId of ['__proto__', 'none', ada]) {
    const error = `There is no approval '${approvalId}': leave approval_id out`
    expect(await call('mine', { user: 'bob', approvalId })).toMatchObject({ error_code: 'INVALID_PARAMETERS', error })
  }
  expect(ran).toEqual([])
  // One that needs approval asks for it.
  expect(await ask('pay', { user: 'ada', approvalId: 'none' })).toBe(ada)
})

test('users who are stated, and callers of a tool with shared: true, get the same pending approval', async () => {
  const { ask } = await open()
  const ada = await ask('pay', { user: 'ada' })
  expect([await ask('pay', { user: 'ada' }), await ask('pay', { user: 'bob' })]).toEqual([
    ada,
    expect.not.stringMatching(ada),
  ])
  expect(await ask('greet')).toBe(await ask('greet'))
})

test('a call that a tool makes for a user who is not stated gets an approval of its own', async () => {
  const { ask, approve, call, ran } = await open()
  const ada = await as('ada', () => ask('clerk'))
  const bob = await as('bob', () => ask('clerk'))
  expect(bob).not.toBe(ada)
  await approve(ada)
  // Repeating the call is not enough: it may be somebody else's.
  const other = await as('bob', () => call('clerk'))
  const how = /^Tool 'pay' runs only with approval. Call it with approval_id '.+' when it is approved, or pass the user/
  expect(other).toMatchObject({ result: { error: expect.stringMatching(how) } })
  expect(other).not.toMatchObject({ result: { details: { approval: { id: ada } } } })
  expect(ran).toEqual([])
  expect(await as('ada', () => call('pay', { approvalId: ada }))).toMatchObject({ result: 'paid ada' })
})

test('a call that a tool makes for a stated user finds its approval', async () => {
  const { ask, approve, call, ran } = await open()
  await approve(await as('ada', () => ask('clerk', { user: 'ada' })))
  const result = await as('ada', () => call('clerk', { user: 'ada' }))
  expect(result).toMatchObject({ result: { success: true, result: 'paid ada' } })
  expect(ran).toEqual(['paid ada'])
})

test('a pipeline continues with the steps of its own user, through several approvals', async () => {
  const { ask, approve, call, ran } = await open()
  const first = await as('ada', () => ask('order'))
  const other = await as('bob', () => ask('order'))
  expect(other).not.toBe(first)
  await approve(first, other)
  const second = await as('ada', () => ask('order', { approvalId: first }))
  const next = await as('bob', () => ask('order', { approvalId: other }))
  expect(new Set([first, other, second, next]).size).toBe(4)
  await approve(second, next)
  for (const [user, approvalId] of [
    ['ada', second],
    ['bob', next],
  ] as const) {
    const results = { mine: `orders of ${user}`, paid: `paid ${user}`, back: `refunded ${user}` }
    expect(await as(user, () => call('order', { approvalId }))).toMatchObject({ success: true, result: results })
  }
  expect(ran.toSorted()).toEqual(
    ['ada', 'bob'].flatMap((user) => [`orders of ${user}`, `paid ${user}`, `refunded ${user}`]).toSorted(),
  )
})

test('a pipeline with an idempotency key continues when it is called with that key again', async () => {
  const { ask, approve, call } = await open()
  const keyed = { idempotencyKey: 'ada-1' }
  await approve(await as('ada', () => ask('order', keyed)))
  await approve(await as('ada', () => ask('order', keyed)))
  expect(await as('ada', () => call('order', keyed))).toMatchObject({ result: { back: 'refunded ada' } })
})

test('a framework repeats a call within its run only', async () => {
  const { yard, approve, ran } = await open()
  const ask = async (name: string, options?: object): Promise<string> => {
    const given = toAiSdk(yard as never, ...((options ? [options] : []) as []))[name]
    try {
      return (await given?.execute({}, { toolCallId: 'call_0' })) as string
    } catch (error) {
      return (error as ToolExecutionError).extras.details?.approval?.id ?? String(error)
    }
  }
  for (const name of ['pay', 'order']) expect(await ask(name)).not.toBe(await ask(name))
  ran.length = 0
  const [one, other] = [{ runId: 'run-1' }, { runId: 'run-2' }]
  const ada = await as('ada', () => ask('pay', one))
  expect(await as('ada', () => ask('pay', one))).toBe(ada)
  const bob = await as('bob', () => ask('pay', other))
  expect(bob).not.toBe(ada)
  await approve(ada)
  expect(await as('bob', () => ask('pay', other))).toBe(bob)
  expect(await as('ada', () => ask('pay', one))).toBe('paid ada')
  expect(ran).toEqual(['paid ada'])
  const first = await as('ada', () => ask('order', one))
  expect(await as('bob', () => ask('order', other))).not.toBe(first)
  await approve(first)
  const second = await as('ada', () => ask('order', one))
  expect(second).not.toBe(first)
  await approve(second)
  expect(await as('ada', () => ask('order', one))).toMatchObject({ mine: 'orders of ada', back: 'refunded ada' })
})

test('a call with an approval that a framework has asked for can be made by the program', async () => {
  const { yard, approve, call } = await open()
  for (const name of ['pay', 'order']) {
    const asked = toAiSdk(yard as never, ...([{ runId: 'run-1' }] as never as []))[name]?.execute(
      {},
      { toolCallId: '0' },
    )
    const id = await (asked as Promise<unknown>).catch((error) => error.extras.details.approval.id)
    await approve(String(id))
    const result = await as('ada', () => call(name, { approvalId: id }))
    // The pipeline goes on to its next approval.
    expect(result).toMatchObject(name === 'pay' ? { result: 'paid ada' } : { error_code: 'APPROVAL_REQUIRED' })
  }
})

test('a user whose name is not well-formed can not approve their own call', async () => {
  const { yard, ask } = await open()
  for (const [user, by] of [
    ['a\ud800', 'a\ud800'],
    ['a\ud800', 'a\ufffd'],
    ['a\ufffd', 'a\ud800'],
  ] as const) {
    const id = await ask('pay', { user })
    await expect(yard.decide(id, { decision: 'approve', by })).rejects.toThrow('The caller that asked may not decide')
  }
})

test('an approved call joins no other, so that its repeat gets the stored answer', async () => {
  const storage = await mkdtemp(join(tmpdir(), 'toolyard-callers-'))
  onTestFinished(() => rm(storage, { recursive: true, force: true }))
  const input = { type: 'object', properties: { amount: { type: 'integer' } } } as const
  const large = { properties: { amount: { minimum: 100 } }, required: ['amount'] }
  let runs = 0
  const execute = async () => {
    const run = ++runs
    await new Promise((resolve) => setTimeout(resolve, 50))
    return run
  }
  const look = tool({ ...described('look'), input, effect: 'read', approval: { when: large }, execute })
  const yard = await createToolyard({ tools: [look], storage })
  onTestFinished(() => yard.close())
  const call = async (amount: number, options: object = {}) => {
    const result = await yard.call('look', { amount }, { user: 'ada', ...options })
    return result.success ? result.result : result.details
  }
  const { approval } = (await call(500)) as { approval: { id: string } }
  await yard.decide(approval.id, { decision: 'approve', params: { amount: 60 }, by: 'olga' })
  const approved = { approvalId: approval.id }
  // The same parameters run already, without an approval.
  expect(await Promise.all([call(60), call(500, approved)])).toEqual([1, 2])
  expect(await call(500, approved)).toBe(2)
})
