import { expect, test } from 'vitest'
import { z } from 'zod'
import type { CallContext } from '../../src/core/call-context.ts'
import { ToolExecutionError, type ToolResult } from '../../src/core/tool-result.ts'
import { tool } from '../../src/library/tool.ts'
import { named, type TracedYard, tracedYard } from './traced-yard.ts'

const ADA: CallContext = { tenant: 'acme', caller: 'ada', source: 'rest' }
const OLGA = { decided_by: 'olga', decided_by_name: 'Olga', reason: null }
const limit = { key: 'of-ada', calls: 2, perMs: 60_000, description: "Caller 'ada' may make 2 calls a minute" }

const never = () => new Promise(() => {})
const idOf = (result: ToolResult): string => (result.success ? '' : (result.details?.approval?.id ?? ''))

/** What a person decides about the approval that a call asked for. */
async function decide(yard: TracedYard, result: ToolResult, decision: 'approve' | 'reject', params?: object) {
  const now = yard.clock.wall()
  const given = {
    ...OLGA,
    decision,
    decided_params: (params ?? null) as never,
    decided_at: now,
    expires_at: now + 3_600_000,
  }
  expect(await yard.engine.pauses.decide('acme', idOf(result), given)).toBe(true)
  return { ...ADA, approvalId: idOf(result) }
}

type Scenario = (yard: TracedYard) => Promise<unknown>

const KINDS: Readonly<Record<string, Scenario>> = {
  'a call that succeeds': async ({ add, call }) => {
    add('echo', (params) => params)
    await call('echo', { n: 1 }, ADA)
  },
  'a tool that answers later': async ({ add, call }) => {
    add('later', async () => 'later')
    await call('later', {}, { ...ADA, signal: new AbortController().signal })
  },
  'an isolated handler': async ({ add, call }) => {
    add('apart', () => 0, { implementation: { type: 'plain', isolated: true } as never })
    await call('apart', { n: 1 }, ADA)
  },
  'an unknown tool': async ({ add, call }) => {
    add('echo', (params) => params)
    await call('ehco', {}, ADA)
    await call('echo', {}, { ...ADA, visible: new Set(['other']) })
    await call('echo@2.0.0', {}, ADA)
    await call(7 as never, {}, ADA)
  },
  'a caller without permission': async ({ add, call }) => {
    add('pay', () => 'paid', { permissions: ['payments'], rate_limit: { calls: 1, per_ms: 1_000 } })
    await call('pay', {}, ADA)
    await call('pay', {}, { ...ADA, tools: ['look_*'], flags: { payments: true } })
    await call('pay', {}, { ...ADA, flags: { payments: true } })
  },
  'invalid parameters': async ({ add, call }) => {
    add('echo', (params) => params, { rate_limit: { calls: 1, per_ms: 1_000 } })
    await call('echo', { n: 'one' }, ADA)
    await call('echo', 'n', ADA)
    await call('echo', { n: 1n }, ADA)
    await call('echo', {}, { ...ADA, timeoutMs: Number.NaN })
  },
  'a context that cannot be read': async ({ add, call }) => {
    add('echo', (params) => params)
    const hostile = Object.defineProperty({}, 'tenant', {
      get() {
        throw new Error('no')
      },
    })
    await call('echo', {}, hostile)
    await call('echo', {}, { ...ADA, approvalId: 'é' })
  },
  'a schema with rules of its own': async ({ registry, call }) => {
    const input = z.object({ n: z.string().transform(async (text) => Number(text)) })
    registry.register(tool({ name: 'typed', description: 'Typed', input, execute: ({ n }) => n + 1 }))
    await call('typed', { n: '1' }, ADA)
    await call('typed', { n: 1 }, ADA)
  },
  'limits of the caller and the tool': async ({ add, call }) => {
    add('echo', (params) => params, { rate_limit: { calls: 1, per_ms: 60_000 } })
    const onRate = () => {}
    for (let n = 0; n < 3; n++) await call('echo', { n }, { ...ADA, rates: [limit], onRate })
  },
  'a full tool': async ({ add, call, said, executor }) => {
    add('slow', never, { max_concurrency: 1 })
    const running = executor.execute('slow', {}, ADA)
    await call('slow', { n: 1 }, ADA)
    await said('close', () => executor.close())
    await said('the first call', () => running)
  },
  'an account of the user': async ({ add, call, connected }) => {
    add('mail', () => 'sent', { implementation: { type: 'plain', account: 'mail' } as never })
    await call('mail', {}, ADA)
    connected.is = false
    await call('mail', {}, ADA)
  },
  'limits before an account, and an account before a stored answer': async ({ add, call, connected }) => {
    const implementation = { type: 'plain', account: 'mail' } as never
    add('mail', () => 'sent', { implementation, rate_limit: { calls: 1, per_ms: 60_000 } })
    add('post', () => 'sent', { implementation, cost: { per_call: 1 } })
    await call('post', {}, { ...ADA, idempotencyKey: 'k1' })
    connected.is = false
    await call('mail', {}, ADA)
    await call('mail', {}, ADA)
    await call('post', {}, { ...ADA, idempotencyKey: 'k1' })
  },
  'identical reads': async ({ add, said, executor }) => {
    add('look', async () => 'seen', { effect: 'read' })
    const both = () => Promise.all([1, 2].map(() => executor.execute('look', { n: 1 }, ADA)))
    await said('look twice at once', both)
  },
  'a cached result': async ({ add, call }) => {
    add('look', () => 'seen', { effect: 'read', cache: { ttl_ms: 1_000 } })
    await call('look', { n: 1 }, ADA)
    await call('look', { n: 1 }, ADA)
    await call('look', { n: 1 }, { ...ADA, tenant: 'other' })
  },
  'a cost': async ({ add, call, spent }) => {
    add('search', () => ({ price: 0.5 }), {
      effect: 'read',
      cache: { ttl_ms: 1_000 },
      cost: { per_call: 0.1, from_result: '$.price' },
    })
    await call('search', { n: 1 }, ADA)
    spent.is = true
    await call('search', { n: 1 }, ADA)
    await call('search', { n: 2 }, ADA)
    await call('search', { n: 'x' }, ADA)
  },
  'a call that costs nothing': async ({ add, call, spent }) => {
    add('free', () => 'free', { cost: { per_call: 0 } })
    spent.is = true
    await call('free', {}, ADA)
  },
  'an idempotency key': async ({ add, call }) => {
    add('pay', () => 'paid')
    const context = { ...ADA, idempotencyKey: 'k1' }
    await call('pay', { n: 1 }, context)
    await call('pay', { n: 1 }, context)
    await call('pay', { n: 2 }, context)
    await call('pay', { n: 1 }, { ...context, idempotencyKey: 'é' })
    await call('pay', { n: 1 }, { ...context, caller: 'bob' })
  },
  'an idempotency key of a read': async ({ add, call }) => {
    add('look', () => 'seen', { effect: 'read', cost: { per_call: 0.1 } })
    await call('look', { n: 1 }, { ...ADA, idempotencyKey: 'k1' })
    await call('look', { n: 1 }, { ...ADA, idempotencyKey: 'k1' })
  },
  'failures with an idempotency key': async ({ add, call }) => {
    const failures = ['EXECUTION_ERROR', 'SERVICE_UNAVAILABLE', 'RATE_LIMITED', 'CONNECTION_REQUIRED'] as const
    for (const code of failures) {
      let calls = 0
      add(code.toLowerCase(), () => {
        if (++calls === 1) throw new ToolExecutionError(code, 'It failed')
        return 'now it works'
      })
      await call(code.toLowerCase(), {}, { ...ADA, idempotencyKey: code })
      await call(code.toLowerCase(), {}, { ...ADA, idempotencyKey: code })
    }
  },
  'an idempotency key with a cost': async ({ add, call, spent }) => {
    add('pay', () => 'paid', { cost: { per_call: 1 } })
    await call('pay', {}, { ...ADA, idempotencyKey: 'k1' })
    spent.is = true
    await call('pay', {}, { ...ADA, idempotencyKey: 'k1' })
    await call('pay', {}, { ...ADA, idempotencyKey: 'k2' })
  },
  'a call of a run that continues': async ({ add, call, registry, memoryOnce }) => {
    add('pay', () => 'paid', { permissions: ['payments'] })
    const step = { ...ADA, once: memoryOnce(), idempotencyKey: 'step', runId: 'run', callId: '1 0', continued: true }
    await call('pay', { n: 1 }, { ...step, flags: { payments: true } })
    await call('pay', { n: 2 }, { ...step, flags: { payments: true } })
    await call('pay', { n: 1 }, step)
    registry.unregister('pay')
    await call('pay', { n: 1 }, step)
    await call('pay', { n: 1 }, { ...step, idempotencyKey: 'other step' })
  },
  'a write that takes too long': async ({ add, call }) => {
    add('write', never)
    add('read', never, { effect: 'read' })
    await call('write', {}, { ...ADA, timeoutMs: 1_000 }, true)
    await call('read', {}, { ...ADA, timeoutMs: 1_000 }, true)
    await call('write', {}, { ...ADA, timeoutMs: 1_000, idempotencyKey: 'k1' }, true)
  },
  'a handler that blocks past its deadline': async ({ add, call, clock }) => {
    add('block', () => clock.advance(40_000), { effect: 'read', cache: { ttl_ms: 90_000 } })
    await call('block', {}, ADA)
  },
  'a call that its caller cancels': async ({ add, call }) => {
    const controller = new AbortController()
    add('wait', () => {
      controller.abort()
      return never()
    })
    await call('wait', {}, { ...ADA, signal: controller.signal })
    await call('wait', {}, { ...ADA, signal: controller.signal })
  },
  'a handler that throws': async ({ add, call }) => {
    add('throw', () => {
      throw new Error('no connection to postgres://me:secret@db')
    })
    add('odd', () => {
      throw 7
    })
    await call('throw', {}, ADA)
    await call('odd', {}, ADA)
  },
  retries: async ({ add, call }) => {
    let tries = 0
    const flaky = () => {
      if (++tries % 3 !== 0) throw new ToolExecutionError('SERVICE_UNAVAILABLE', 'It is away')
      return 'there'
    }
    add('read', flaky, { effect: 'read', retry: { max_attempts: 3, backoff_ms: 10 } })
    add('write', flaky, { retry: { max_attempts: 3, backoff_ms: 10 } })
    await call('read', {}, ADA, true)
    await call('write', {}, ADA, true)
  },
  results: async ({ add, call }) => {
    add('large', () => 'x'.repeat(200), { max_result_bytes: 100 })
    add('cyclic', () => {
      const value: Record<string, unknown> = {}
      value.self = value
      return value
    })
    add('nothing', () => undefined)
    for (const name of ['large', 'cyclic', 'nothing']) await call(name, {}, ADA)
  },
  'a result that does not match its schema': async ({ registry, call }) => {
    const input = { type: 'object', properties: {} } as const
    const output = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
    registry.register(
      tool({ name: 'counts', description: 'Counts', input, output, execute: () => ({ n: 'x' }) as never }),
    )
    await call('counts', {}, ADA)
  },
  'a result that does not match its schema, and is late': async ({ registry, call, clock }) => {
    const input = { type: 'object', properties: {} } as const
    const output = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
    const execute = () => {
      clock.advance(60_000)
      return { n: 'x' } as never
    }
    registry.register(tool({ name: 'counts', description: 'Counts', input, output, execute }))
    await call('counts', {}, ADA)
  },
  'a deprecated tool with migrated parameters': async ({ add, call }) => {
    add('echo', (params) => params, {
      version: '2.0.0',
      deprecated: { use: 'other' } as never,
      migrate: [{ from: '1.0.0', rename: { count: 'n' } }] as never,
    })
    await call('echo', { count: 1 }, ADA)
    await call('echo@2.0.0', { n: 1 }, ADA)
  },
  'an approval': async (yard) => {
    const { add, call } = yard
    add('pay', () => 'paid', { approval: true, rate_limit: { calls: 5, per_ms: 60_000 }, cost: { per_call: 1 } })
    const asked = await call('pay', { n: 1 }, ADA)
    const context = { ...ADA, approvalId: idOf(asked) }
    await call('pay', { n: 1 }, context)
    await decide(yard, asked, 'approve')
    await call('pay', { n: 2 }, context)
    await call('pay', { n: 1 }, { ...context, caller: 'bob' })
    await call('pay', { n: 1 }, context)
    await call('pay', { n: 1 }, context)
  },
  'a rejected approval, also when the rule is gone': async (yard) => {
    const { add, call, registry } = yard
    add('pay', () => 'paid', { approval: true })
    const context = await decide(yard, await call('pay', { n: 1 }, ADA), 'reject')
    await call('pay', { n: 1 }, context)
    registry.unregister('pay')
    add('pay', () => 'paid')
    await call('pay', { n: 1 }, context)
    await call('pay', { n: 1 }, ADA)
  },
  'an approval that expires': async (yard) => {
    const { add, call, clock } = yard
    add('pay', () => 'paid', { approval: { expires_ms: 1_000 } })
    const asked = await call('pay', { n: 1 }, ADA)
    clock.advance(2_000)
    await call('pay', { n: 1 }, { ...ADA, approvalId: idOf(asked) })
  },
  'an approval of which an approver changed the parameters': async (yard) => {
    const { add, call } = yard
    add('pay', (params) => params, { approval: { when: { properties: { n: { minimum: 10 } } } } })
    await call('pay', { n: 1 }, ADA)
    const context = await decide(yard, await call('pay', { n: 20 }, ADA), 'approve', { n: 5 })
    await call('pay', { n: 20 }, context)
  },
  'changed parameters that the tool does not take': async (yard) => {
    const { add, call } = yard
    add('pay', (params) => params, { approval: true })
    const context = await decide(yard, await call('pay', { n: 20 }, ADA), 'approve', { n: 'five' })
    await call('pay', { n: 20 }, context)
  },
  'a cached read of which an approver changed the parameters': async (yard) => {
    const { add, call } = yard
    const approval = { when: { properties: { n: { minimum: 10 } } } }
    add('look', (params) => params, { approval, effect: 'read', cache: { ttl_ms: 60_000 } })
    await call('look', { n: 20 }, await decide(yard, await call('look', { n: 20 }, ADA), 'approve', { n: 5 }))
    await call('look', { n: 5 }, ADA)
  },
  'an approval of a tool that has changed since': async (yard) => {
    const { add, call, registry } = yard
    add('pay', () => 'paid', { approval: true })
    const context = await decide(yard, await call('pay', { n: 1 }, ADA), 'approve')
    registry.unregister('pay')
    add('pay', () => 'paid', { approval: true, parameters: { type: 'object', properties: {} } })
    await call('pay', { n: 1 }, context)
  },
  'a caller that can only repeat the call': async (yard) => {
    const { add, call } = yard
    add('pay', () => 'paid', { approval: true })
    const context: CallContext = { ...ADA, source: 'mcp' }
    const asked = await call('pay', { n: 1 }, context)
    await call('pay', { n: 1 }, context)
    await decide(yard, asked, 'approve')
    await call('pay', { n: 1 }, context)
  },
  'an agent that asks for writes': async ({ add, call }) => {
    add('write', () => 'written')
    add('read', () => 'seen', { effect: 'read' })
    await call('write', {}, { ...ADA, asksWrites: true })
    await call('read', {}, { ...ADA, asksWrites: true })
    await call('write', {}, { ...ADA, asksWrites: true, stores: false })
  },
  'a tool that calls others': async ({ add, call }) => {
    add('inner', (params) => params)
    add('outer', (_, { call: callTool }) => callTool?.('inner', { n: 1 }, { step: 'a' }), {
      implementation: { type: 'caller', calls: ['inner'] } as never,
    })
    await call('outer', {}, ADA)
    await call('outer', {}, { ...ADA, idempotencyKey: 'k1' })
  },
  'a tool whose callee needs approval': async (yard) => {
    const { add, call } = yard
    add('look', () => 'seen', { effect: 'read', cost: { per_call: 1 } })
    add('pay', () => 'paid', { approval: true })
    const outer = async (_: unknown, { call: callTool }: { call?: (...args: never[]) => Promise<ToolResult> }) => {
      const answers: unknown[] = []
      for (const name of ['look', 'pay']) {
        const answer = await (
          callTool as never as (name: string, params: object, options: object) => Promise<ToolResult>
        )(name, { n: 1 }, { step: name })
        if (!answer.success)
          throw new ToolExecutionError(answer.error_code, answer.error, { details: answer.details } as never)
        answers.push(answer.result)
      }
      return answers
    }
    add('outer', outer as never, {
      implementation: { type: 'caller', calls: ['look', 'pay'] } as never,
      cost: { per_call: 2 },
    })
    const asked = await call('outer', {}, ADA)
    const context = await decide(yard, asked, 'approve')
    await call('outer', { n: 1 }, context)
    await call('outer', {}, context)
    await call('outer', {}, context)
  },
  'a tool that needs approval, and whose callee needs it, too': async (yard) => {
    const { add, call } = yard
    add('pay', () => 'paid', { approval: true })
    const outer = async (_: unknown, { call: callTool }: { call?: (...args: never[]) => Promise<ToolResult> }) => {
      const make = callTool as never as (name: string, params: object, options: object) => Promise<ToolResult>
      const answer = await make('pay', { n: 1 }, { step: 'pay' })
      if (answer.success) return answer.result
      throw new ToolExecutionError(answer.error_code, answer.error, { details: answer.details } as never)
    }
    add('outer', outer as never, { implementation: { type: 'caller', calls: ['pay'] } as never, approval: true })
    const own = await decide(yard, await call('outer', {}, ADA), 'approve')
    const inner = await decide(yard, await call('outer', {}, own), 'approve')
    await call('outer', {}, inner)
    await call('outer', {}, inner)
  },
  'calls that call each other': async ({ add, call }) => {
    add('loop', (_, { call: callTool }) => callTool?.('loop', {}, { step: 'a' }), {
      implementation: { type: 'caller', calls: ['loop'] } as never,
    })
    await call('loop', {}, ADA)
  },
  'a request that may not be stored': async ({ add, call }) => {
    add('echo', (params) => params)
    await call('echo', { n: 1 }, { ...ADA, stores: false })
    await call('echo', { n: 'x' }, { ...ADA, stores: false })
  },
  'a job': async ({ add, call }) => {
    add('echo', (_, { timeoutMs }) => timeoutMs)
    await call('echo', {}, { ...ADA, source: 'job', timeoutMs: 3_600_000 })
    await call('echo', {}, { ...ADA, timeoutMs: 3_600_000 })
  },
  'a call that will run later': async ({ add, said, executor }) => {
    add('pay', () => 'paid', { approval: true, rate_limit: { calls: 1, per_ms: 60_000 }, permissions: ['payments'] })
    const admit = (what: string, params: object, context: CallContext) =>
      said(`admit ${what}`, () => executor.admit('pay', params, { ...ADA, rates: [limit], ...context }))
    const flags = { payments: true }
    await admit('without permission', {}, {})
    await admit('with invalid parameters', { n: 'x' }, { flags })
    for (let n = 0; n < 3; n++) await admit(`${n}`, { n }, { flags })
  },
  'something else that is read': async ({ said, executor }) => {
    const access = (read: () => Promise<unknown>) =>
      said('access', () => executor.access('mcp resources/read', { uri: 'x://1' }, { ...ADA, rates: [limit] }, read))
    await access(async () => 'text')
    await access(async () => {
      throw new Error('away')
    })
    await access(async () => 'text')
  },
  'a refused and a counted request': async ({ said, executor }) => {
    const reason = new ToolExecutionError('RATE_LIMITED', 'Too many requests')
    await said('refuse', () => executor.refuse('pay', reason, ADA))
    for (let n = 0; n < 3; n++) await said('count', () => executor.count({ ...ADA, rates: [limit] }))
  },
  'checks that run nothing': async ({ add, said, executor }) => {
    add('pay', () => 'paid', { approval: true, rate_limit: { calls: 1, per_ms: 60_000 } })
    await said('validate', () => executor.validate('pay', { n: 'x' }))
    await said('validate', () => executor.validate('pay', { n: 1 }))
    await said('validate', () => executor.validate('gone', { n: 1 }))
    await said('prepare', () => executor.prepare('pay', { n: 1 }))
    await said('prepare', () => executor.prepare('pay', { n: 'x' }))
    await said('check', () => executor.check('pay'))
  },
  'a closed executor': async ({ add, call, said, executor }) => {
    add('echo', (params) => params)
    executor.close()
    await call('echo', {}, ADA)
    await said('access', () => executor.access('mcp resources/read', {}, ADA, async () => 'text'))
  },
}

test('every kind of call asks the same of everything around it, in the same order', async () => {
  const traces: string[] = []
  for (const [name, scenario] of Object.entries(KINDS)) {
    const yard = await tracedYard()
    await scenario(yard)
    traces.push(`# ${name}\n${named(yard.lines)}\n`)
  }
  await expect(traces.join('\n')).toMatchFileSnapshot('call-traces.txt')
})
