import { setTimeout as sleep } from 'node:timers/promises'
import { silentLog, ToolManager } from 'toolyard'
import { expect, onTestFinished, test } from 'vitest'
import { type Shop, stockHandlers, stockTools } from './stock-tools.ts'

/** A shop with lamps, that remembers what was ordered. */
async function open(shop: Partial<Shop> = {}) {
  const orders: string[] = []
  const handlers = stockHandlers({
    pieces: async (article) => (article === 'lamp' ? 12 : undefined),
    order: async (article, pieces) => `order ${orders.push(`${pieces} × ${article}`)}`,
    ...shop,
  })
  const manager = new ToolManager({ tools: { enabled: true, registry: stockTools } }, { handlers, log: silentLog })
  onTestFinished(() => manager.close())
  expect(await manager.loadTools()).toMatchObject({ loaded: ['get_stock', 'order_article'], skipped: [] })
  return { executor: manager.getExecutor(), orders }
}

const allowed = { flags: { ordering: true } }

test('tells what is in stock', async () => {
  const { executor } = await open()
  expect(await executor.execute('get_stock', { article: 'lamp' })).toMatchObject({
    success: true,
    result: { article: 'lamp', in_stock: 12 },
  })
})

test('an unknown article is the fault of the caller, and says what to do', async () => {
  const { executor } = await open()
  expect(await executor.execute('get_stock', { article: 'unicorn' })).toMatchObject({
    success: false,
    error_code: 'INVALID_PARAMETERS',
    error: "There is no article 'unicorn': ask for its exact name",
  })
})

test('nobody orders who may not, and nothing is ordered by mistake', async () => {
  const { executor, orders } = await open()
  const params = { article: 'lamp', pieces: 5 }
  expect(await executor.execute('order_article', params)).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  const many = { article: 'lamp', pieces: 5_000 }
  expect(await executor.execute('order_article', many, allowed)).toMatchObject({ error_code: 'INVALID_PARAMETERS' })
  expect(orders).toEqual([])
  expect(await executor.execute('order_article', params, allowed)).toMatchObject({ result: { order: 'order 1' } })
  expect(orders).toEqual(['5 × lamp'])
})

test('asked twice with the same key, it orders once', async () => {
  const { executor, orders } = await open()
  const context = { ...allowed, idempotencyKey: 'monday' }
  const first = await executor.execute('order_article', { article: 'lamp', pieces: 5 }, context)
  const again = await executor.execute('order_article', { article: 'lamp', pieces: 5 }, context)
  expect(again).toMatchObject({ success: true, result: first.success && first.result })
  expect(orders).toEqual(['5 × lamp'])
})

test('an order that hangs ends on time, and nobody claims that it did not happen', async () => {
  const { executor } = await open({ order: () => sleep(60_000, 'late', { ref: false }) })
  const envelope = await executor.execute(
    'order_article',
    { article: 'lamp', pieces: 1 },
    { ...allowed, timeoutMs: 1_000 },
  )
  expect(envelope).toMatchObject({ success: false, error_code: 'TIMEOUT', outcome: 'unknown' })
})
