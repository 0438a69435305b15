import { randomUUID } from 'node:crypto'
import { Installation } from '../../src/app/installation.ts'
import { periodOf } from '../../src/core/costs.ts'
import type { Handler } from '../../src/core/handler.ts'
import { silentLog } from '../../src/core/log.ts'
import type { ToolDefinition } from '../../src/core/tool.ts'
import { ToolHandlers } from '../../src/kinds/tool-handlers.ts'
import { scripted } from '../../src/testing/stand-ins.ts'

const TENANTS = ['acme', 'globex']
const KEYS = ['key-1', 'key-2', 'key-3']
const CLIENTS = 24
/** A client makes this many calls before it looks whether it is over. */
const ROUND = 10
const PRICES = { input: 2, output: 10 }
const USAGE = { prompt_tokens: 700, completion_tokens: 31, total_tokens: 731 }
/** A tool that reaches its budget: nothing else stops it. */
const LIMITED = { amount: 0.5, per_call: 0.01 }
const CONFIG = {
  budgets: [
    { scope: 'tenant', per: 'month', amount: 1_000_000 },
    { scope: 'key', per: 'day', amount: 1_000_000 },
    { scope: 'model', per: 'day', amount: 0.000001, action: 'warn' },
    { scope: 'tool', match: 'limited', per: 'day', amount: LIMITED.amount },
  ],
} as const

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T
const micros = (cost: unknown): number => (typeof cost === 'number' ? Math.round(cost * 1e6) : 0)
const soon = () => new Promise<void>((resolve) => setImmediate(resolve))

const TOOLS: Readonly<Record<string, Partial<ToolDefinition> & { readonly run: Handler }>> = {
  flat: { run: async () => 'done', cost: { per_call: 0.003 } },
  metered: {
    // Always known: a call of unknown cost counts against budgets with what it has set aside, and its audit row has no cost.
    run: async () => ({ cost: Math.round(Math.random() * 9_999) / 1e6 }),
    cost: { per_call: 0.001, from_result: '$.cost' },
  },
  failing: { run: () => Promise.reject(new Error('no')), cost: { per_call: 0.002 } },
  slow: { run: () => new Promise((resolve) => setTimeout(resolve, 5)), cost: { per_call: 0.000007 } },
  keyed: { run: async () => 'paid', cost: { per_call: 0.004 }, effect: 'write' },
  limited: { run: async () => 'done', cost: { per_call: LIMITED.per_call } },
}

/** What was spent, in millionths, as different places say it. They must all agree. */
export interface SoakedBudgets {
  readonly calls: number
  readonly refused: number
  /** Of calls: as their callers were told, in the audit rows, and in the counters of tools. */
  readonly told: number
  readonly audit: number
  readonly tools: number
  /** Of turns: as the runs say, and in the counters of models. */
  readonly runs: number
  readonly models: number
  /** Of both: in the counters of tenants by day, of keys, and of months with what is still set aside. */
  readonly tenants: number
  readonly keys: number
  readonly months: number
  /** The most that `limited` may cost, and what it cost. */
  readonly most: number
  readonly limited: number
}

/** Makes calls and runs on two servers of one store, and on others that start and stop, until `isOver`. */
export async function soakBudgets(
  env: Readonly<Record<string, string>>,
  isOver: (calls: number) => boolean,
): Promise<SoakedBudgets> {
  const handlers = new ToolHandlers()
  const registry = Object.entries(TOOLS).map(([name, { run, ...rest }]) => {
    handlers.register(name, run)
    const implementation = { type: 'internal', handler: name }
    return { name, description: name, parameters: { type: 'object' }, implementation, ...rest }
  })
  const config = { ...CONFIG, tools: { enabled: true, registry } }
  const open = () => Installation.open({ config, handlers, log: silentLog, env })
  const servers = [await open(), await open()] as const
  const begin = Date.now()
  let [calls, refused, told, runs] = [0, 0, 0, 0]

  const call = async ({ manager }: Installation): Promise<void> => {
    const tool = pick(Object.keys(TOOLS))
    const leaving = new AbortController()
    const caller = { tenant: pick(TENANTS), caller: 'soak', keyId: pick(KEYS), source: 'code' } as const
    const idempotencyKey = tool === 'keyed' ? `${Math.floor(Math.random() * 1_000)}` : undefined
    const running = manager.getExecutor().execute(tool, {}, { ...caller, idempotencyKey, signal: leaving.signal })
    if (tool === 'slow' && Math.random() < 0.3) void soon().then(() => leaving.abort())
    const envelope = await running
    calls++
    told += micros(envelope.cost)
    if (!envelope.success && envelope.error_code === 'RATE_LIMITED') refused++
  }
  const chat = async ({ manager }: Installation): Promise<void> => {
    const context = { tenant: pick(TENANTS), caller: 'soak', keyId: pick(KEYS), source: 'code' } as const
    const model = scripted({ text: 'Done.', usage: USAGE })
    const asked = {
      model,
      prices: PRICES,
      messages: [{ role: 'user', content: 'Go.' }],
      context,
      allowed_tools: [],
    } as const
    for await (const event of manager.getLoop().run(asked)) {
      if (event.type === 'answer') runs += micros(event.answer.cost)
    }
  }
  const client = async (server: Installation): Promise<void> => {
    do {
      for (let made = 0; made < ROUND; made++) await (Math.random() < 0.1 ? chat(server) : call(server))
      await soon()
    } while (!isOver(calls))
  }
  /** Servers that come and go while the others work. */
  const passing = async (): Promise<void> => {
    do {
      const server = await open()
      await Promise.all(Array.from({ length: 4 * ROUND }, () => call(server)))
      await server.close()
    } while (!isOver(calls))
  }
  try {
    const clients = Array.from({ length: CLIENTS }, (_, index) => client(servers[index % 2] as Installation))
    await Promise.all([...clients, passing()])
    for (const { manager, sink } of servers) {
      manager.getExecutor().flush()
      await sink.flush()
    }
    const sums = await storedSums(servers[0], begin)
    return { calls, refused, told, runs, ...sums }
  } finally {
    await Promise.all(servers.map((server) => server.close()))
  }
}

async function storedSums({ storage }: Installation, begin: number) {
  const { ledger, spending } = storage
  let audit = 0
  for (const tenant of TENANTS) {
    let cursor: string | undefined
    do {
      const page = await ledger.audit({ tenant, type: 'call', limit: 1_000, ...(cursor !== undefined && { cursor }) })
      for (const { cost } of page.rows) audit += micros(cost)
      cursor = page.next
    } while (cursor !== undefined)
  }
  const report = (by: 'tool' | 'model' | 'tenant' | 'key') =>
    spending.report({ tenant: undefined, by, from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1_000 })
  const [tools, models, tenants, keys] = await Promise.all((['tool', 'model', 'tenant', 'key'] as const).map(report))
  const starts = new Set([begin, Date.now()].map((at) => periodOf('month', at).start))
  const counters = [...starts].flatMap((start) =>
    TENANTS.map((tenant) => ({ tenant, scope: 'tenant', name: tenant, per: 'month', start }) as const),
  )
  const asked = counters.map((counter) => ({ ...counter, amount: Number.MAX_SAFE_INTEGER, refuses: false }))
  const [answer] = await spending.hold([{ id: randomUUID(), counters: asked, micros: 0 }])
  const days = new Set([begin, Date.now()].map((at) => periodOf('day', at).start)).size
  return {
    audit,
    tools: tools?.total.spent ?? 0,
    models: models?.total.spent ?? 0,
    tenants: tenants?.total.spent ?? 0,
    keys: keys?.total.spent ?? 0,
    months: answer?.spent.reduce((sum, spent) => sum + spent, 0) ?? 0,
    most: micros(LIMITED.amount) * TENANTS.length * days,
    limited: tools?.names.find(({ name }) => name === 'limited')?.spent ?? 0,
  }
}

/** What does not agree, in sentences. */
export function disagreements(soaked: SoakedBudgets): string[] {
  const { told, audit, tools, runs, models, tenants, keys, months, most, limited } = soaked
  const same = (what: string, one: number, other: number) =>
    one === other ? [] : [`${what}: ${one} and ${other} millionths, a difference of ${one - other}`]
  return [
    ...same('Costs in envelopes and audit rows', told, audit),
    ...same('Costs in audit rows and counters of tools', audit, tools),
    ...same('Costs of runs and counters of models', runs, models),
    ...same('Counters of tenants and of tools and models', tenants, tools + models),
    ...same('Counters of keys and of tenants', keys, tenants),
    ...same('Counters of months, with what is set aside, and of days', months, tenants),
    ...(limited <= most ? [] : [`A budget of ${most} millionths was exceeded: ${limited}`]),
  ]
}
