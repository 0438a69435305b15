/** Loads servers in a process of its own, as its parent orders, one order at a time. */
import { Connection } from './connection.ts'
import type { LoadOrder, LoadResult } from './load-order.ts'

/** Nobody ever wakes who waits for it. */
const NOTHING = new Int32Array(new SharedArrayBuffer(4))
/** Between two looks at what is due and at what has come. */
const NAP_MS = 0.1

process.on('disconnect', () => process.exit())
process.on('message', async (order: LoadOrder) => {
  process.send?.(order.rate === undefined ? await atOnce(order) : await paced({ ...order, rate: order.rate }))
})

/** Every connection asks again as soon as it is answered, until the time is over. */
async function atOnce({ port, connections, text, expects, ms, fresh }: LoadOrder): Promise<LoadResult> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let requests = 0
  let busy = connections
  let end = Number.POSITIVE_INFINITY
  const answered = (connection: Connection): void => {
    requests++
    if (performance.now() < end) connection.ask(text)
    else if (--busy === 0) resolve()
  }
  const all = await Connection.open(port, connections, expects, answered, fresh)
  const started = performance.now()
  end = started + ms
  for (const connection of all) connection.ask(text)
  await promise
  const took = performance.now() - started
  for (const connection of all) connection.close()
  return { requests, ms: took, p50: Number.NaN, p99: Number.NaN, lateP99: Number.NaN }
}

/**
 * Requests at a fixed rate. The time of each counts from when it was due: one that had to wait, because the answers
 * before it were late, is late by that much itself.
 */
async function paced({
  port,
  connections,
  text,
  expects,
  ms,
  rate,
}: LoadOrder & { readonly rate: number }): Promise<LoadResult> {
  const requests = Math.floor((rate * ms) / 1000)
  const took = new Float64Array(requests)
  const late: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  let answered = 0
  let asked = 0
  let start = 0
  /** Since when there has been a connection to send on. */
  let freeSince = 0
  const dueAt = (request: number) => start + (request * 1000) / rate
  const free = await Connection.open(port, connections, expects, (connection) => {
    const now = performance.now()
    took[connection.asked] = now - dueAt(connection.asked)
    if (free.push(connection) === 1) freeSince = now
    if (++answered === requests) resolve()
  })
  const send = () => {
    const now = performance.now()
    while (asked < requests && dueAt(asked) <= now) {
      const connection = free.shift()
      if (connection === undefined) break
      late.push(now - Math.max(dueAt(asked), freeSince))
      connection.asked = asked++
      connection.ask(text)
    }
    if (asked === requests) return
    // Timers are too coarse for this, and who never sleeps takes a core from those who answer.
    Atomics.wait(NOTHING, 0, 0, NAP_MS)
    setImmediate(send)
  }
  start = performance.now() + 1
  send()
  await promise
  const ended = performance.now() - start
  for (const connection of free) connection.close()
  took.sort()
  late.sort((a, b) => a - b)
  const at = (values: ArrayLike<number>, share: number) => values[Math.floor(values.length * share)] ?? Number.NaN
  return { requests, ms: ended, p50: at(took, 0.5), p99: at(took, 0.99), lateP99: at(late, 0.99) }
}
