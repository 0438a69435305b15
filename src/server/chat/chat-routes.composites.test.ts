import { describe, expect, test, vi } from 'vitest'
import type { PausePage } from '../../core/storage/pause-store.ts'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'

vi.setConfig({ testTimeout: 60_000 })

const $ = (path: string) => ({ $: path })
const internal = (name: string, more: object = {}) => ({
  ...{ name, description: name, parameters: { type: 'object' }, ...more },
  implementation: { type: 'internal', handler: name },
})
const composite = (name: string, implementation: object, more: object = {}) => ({
  ...{ name, description: name, parameters: { type: 'object' }, implementation, ...more },
})
const calls = (...all: readonly [name: string, params?: object][]): GivenTurn => ({
  calls: all.map(([name, params = {}]) => ({ name, arguments: params })),
})
const noted = (text: string) => ({ id: text, tool: 'note', params: { text } })
const agent = { type: 'agent', model: 'scripted:turns', tools: ['note', 'look', 'pay', 'order', 'run_code'] }
const TASK = { task: 'Pay' }

/** A server whose `pay` needs approval, with tools that call it and tools that write and read before. */
async function open(turns: readonly GivenTurn[] = []) {
  const ran: string[] = []
  const run =
    (name: string) =>
    ({ text, amount }: Record<string, unknown>) => {
      ran.push([name, text ?? amount].filter((part) => part !== undefined).join(' '))
      return { [name]: text ?? amount ?? null }
    }
  const [pay, note, look] = [run('pay'), run('note'), run('look')]
  const registry = [
    internal('pay', { approval: true }),
    internal('note'),
    internal('look', { effect: 'read' }),
    composite('order', {
      type: 'pipeline',
      steps: [
        ...[noted('first'), { id: 'seen', tool: 'look' }],
        {
          id: 'paid',
          tool: 'pay',
          params: { amount: $('$.params.amount'), after: [$('$.steps.first'), $('$.steps.seen')] },
        },
        { id: 'last', tool: 'note', params: { text: $('$.steps.paid.pay') } },
      ],
    }),
    composite('outer', {
      type: 'pipeline',
      steps: [
        noted('outside'),
        { id: 'inner', tool: 'order', params: { amount: 7, after: $('$.steps.outside') } },
        { id: 'again', tool: 'order', params: { amount: 8, after: $('$.steps.inner') } },
      ],
    }),
    composite(
      'guarded',
      { type: 'pipeline', steps: [noted('inside'), { id: 'paid', tool: 'pay', params: { amount: 5 } }] },
      { approval: true },
    ),
    composite('buyer', agent, { timeout_ms: 60_000 }),
  ]
  const config = { tools: { enabled: true, registry, code_mode: { enabled: true } } }
  const server = await openScriptedServer([...turns, 'Done.'], { tools: { pay, note, look }, config: config as never })
  const { installation } = server
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const given = { 'content-type': 'application/json', ...headers }
    return JSON.parse(
      await (await fetch(server.url + path, { method: 'POST', headers: given, body: JSON.stringify(body) })).text(),
    )
  }
  const execute = (tool_name: string, params: object, approval_id?: string, key?: string) =>
    post('/tools/execute', { tool_name, params, approval_id }, key === undefined ? {} : { 'idempotency-key': key })
  const pending = async (): Promise<PausePage['pauses']> =>
    (await installation.storage.pauses.list({ tenant: 'local', status: 'pending', now: Date.now(), limit: 10 })).pauses
  const by = { id: 'local', name: 'local', source: 'cli' } as const
  const decide = (id: string, decision: 'approve' | 'reject' = 'approve') =>
    installation.approvals.decide('local', id, { decision }, by)
  /** Approves whatever waits until the run has ended. */
  const ended = async (id: string) => {
    await vi.waitFor(
      async () => {
        for (const pause of await pending()) await decide(pause.id)
        expect((await installation.storage.durableRuns.get('local', id))?.status).toBe('finished')
      },
      { timeout: 50_000 },
    )
    const run = await installation.storage.durableRuns.get('local', id)
    return run && installation.durableRuns.answerOf(run)
  }
  return { ...server, ran, post, execute, pending, decide, ended }
}

type Opened = Awaited<ReturnType<typeof open>>

/** Calls a tool without an idempotency key, approves what it asks for, and repeats it until it has ended. */
async function untilEnded({ execute, decide }: Opened, tool: string, params: object, last?: string): Promise<unknown> {
  const result = await execute(tool, params, last)
  if (result.error_code !== 'APPROVAL_REQUIRED') return result
  const { id } = result.details.approval
  expect(result.error).toContain(`with approval_id '${id}'`)
  await decide(id)
  return untilEnded({ execute, decide } as Opened, tool, params, id)
}

describe('a direct call without an idempotency key continues after an approval', () => {
  test.each<[string, string, object, readonly string[], (readonly GivenTurn[])?]>([
    ['in a pipeline', 'order', { amount: 1 }, ['note first', 'look', 'pay 1', 'note 1']],
    [
      'in pipelines inside a pipeline',
      'outer',
      {},
      ['note outside', 'note first', 'look', 'pay 7', 'note 7', 'note first', 'look', 'pay 8', 'note 8'],
    ],
    ['in a pipeline that needs approval itself', 'guarded', {}, ['note inside', 'pay 5']],
    [
      'in code, with the same time and random numbers',
      'run_code',
      {
        code: `const id = [Math.random(), Date.now()].join(' '); await tools.note({ text: 'a' }); await tools.look()
          const { note } = await tools.note({ text: id }); if (note !== id) throw new Error('Another id')
          await Promise.all([tools.pay({ amount: 1 }), tools.pay({ amount: 2 })]); await tools.note({ text: 'b' }); return 'ok'`,
      },
      ['note a', 'look', 'note id', 'pay 1', 'pay 2', 'note b'],
    ],
    [
      'in an agent',
      'buyer',
      TASK,
      ['note a', 'look', 'pay 1', 'note b', 'pay 2'],
      [
        calls(['note', { text: 'a' }], ['look']),
        calls(['pay', { amount: 1 }]),
        calls(['note', { text: 'b' }]),
        calls(['pay', { amount: 2 }]),
      ],
    ],
    [
      'in a pipeline that an agent calls',
      'buyer',
      TASK,
      ['note a', 'note first', 'look', 'pay 3', 'note 3'],
      [calls(['note', { text: 'a' }]), calls(['order', { amount: 3 }])],
    ],
  ])('%s', async (_, tool, params, ran, turns = []) => {
    const opened = await open(turns)
    const result = await untilEnded(opened, tool, params)
    expect(result).toMatchObject({ success: true })
    expect(opened.ran.map((one) => one.replace(/0\.\d+ \d+/, 'id')).sort()).toEqual([...ran].sort())
    expect(opened.model.requests.length).toBe(turns.length === 0 ? 0 : turns.length + 1)
  })

  test('once: a further repeat returns the stored result', async () => {
    const opened = await open()
    const first = await opened.execute('order', { amount: 1 })
    const { id } = first.details.approval
    await opened.decide(id)
    const ends = await Promise.all([1, 2].map(() => opened.execute('order', { amount: 1 }, id)))
    expect(ends).toMatchObject([{ result: { note: 1 } }, { result: { note: 1 } }])
    expect(await opened.execute('order', { amount: 1 }, id)).toMatchObject({ result: { note: 1 } })
    expect(opened.ran).toHaveLength(4)
  })

  test('and never with an approval of another call, an unknown or a rejected one', async () => {
    const { execute, decide, ran } = await open()
    const { id } = (await execute('order', { amount: 1 })).details.approval
    await decide(id, 'reject')
    expect(await execute('order', { amount: 2 }, id)).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error: `The approval '${id}' is for another call: leave approval_id out to start again`,
    })
    expect(await execute('order', { amount: 1 }, 'none')).toMatchObject({
      error: expect.stringContaining("'none' not found"),
    })
    expect(await execute('order', { amount: 1 }, id)).toMatchObject({
      error_code: 'PERMISSION_DENIED',
      details: { steps: [{ status: 'done' }, { status: 'done' }, { status: 'failed' }, { status: 'not_run' }] },
    })
    expect(ran.sort()).toEqual(['look', 'note first'])
  })
})

test('a repeat with the same idempotency key continues an agent, too', async () => {
  const { execute, decide, ran, model } = await open([calls(['note', { text: 'a' }]), calls(['pay', { amount: 1 }])])
  const { id } = (await execute('buyer', TASK, undefined, 'k1')).details.approval
  await decide(id)
  expect(await execute('buyer', TASK, undefined, 'k1')).toMatchObject({ result: { answer: 'Done.' } })
  expect([ran, model.requests.length]).toEqual([['note a', 'pay 1'], 3])
})

describe('a run waits for an approval inside', () => {
  test.each<[string, readonly GivenTurn[], readonly string[]]>([
    ['a pipeline', [calls(['order', { amount: 1 }])], ['note first', 'look', 'pay 1', 'note 1']],
    [
      'code',
      [calls(['run_code', { code: "await tools.note({ text: 'a' }); return await tools.pay({ amount: 1 })" }])],
      ['note a', 'pay 1'],
    ],
    ['a pipeline that needs approval itself', [calls(['guarded'])], ['note inside', 'pay 5']],
    [
      'an agent',
      [
        calls(['buyer', TASK]),
        calls(['note', { text: 'a' }]),
        calls(['pay', { amount: 1 }], ['pay', { amount: 2 }]),
        'Paid.',
      ],
      ['note a', 'pay 1', 'pay 2'],
    ],
  ])('%s, and runs nothing twice', async (_, turns, ran) => {
    const opened = await open(turns)
    const answer = await opened.post('/chat', { message: 'Go' })
    expect(answer).toMatchObject({ status: 'waiting', stop_reason: 'approval_required' })
    expect(await opened.ended(answer.run_id)).toMatchObject({ content: 'Done.' })
    expect([...opened.ran].sort()).toEqual([...ran].sort())
    expect(opened.model.requests).toHaveLength(turns.length + 1)
  })
})
