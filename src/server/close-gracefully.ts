import type { FastifyInstance } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { settleRecords } from './settle-records.ts'

/** How often it is looked whether everything has been answered. */
const LOOK_MS = 20
/** How long the last answers may take to be taken. */
const LAST_ANSWERS_MS = 1_000
const LAST_EVENT = { error: 'The server is shutting down: ask again in a moment' }

/**
 * Ends a server: it takes nothing new; what runs may end within the limit, and is called off after it; streams get a
 * last event. When this settles, everything that was answered is on record. The installation stays open.
 */
export async function closeGracefully(app: FastifyInstance, limitMs: number): Promise<void> {
  const { traffic, streams, mcp, jobs, installation } = app.service
  const { clock } = installation
  const ended = new Promise<void>((resolve) => app.server.close(() => resolve()))
  traffic.drain()
  const jobsEnded = jobs.close(limitMs)
  await untilIdle(clock, limitMs, () => {
    // A connection that is kept alive would keep the server alive, too.
    app.server.closeIdleConnections()
    return !traffic.busy && !mcp.busy && streams.size === 0
  })
  traffic.cancelCalls()
  streams.endAll('shutdown', LAST_EVENT)
  await mcp.close()
  await untilIdle(clock, LAST_ANSWERS_MS, () => {
    app.server.closeIdleConnections()
    return !traffic.busy && streams.size === 0
  })
  app.server.closeAllConnections()
  await Promise.all([ended, jobsEnded])
  await app.close()
  await settleRecords(installation)
}

async function untilIdle(clock: Clock, limitMs: number, isIdle: () => boolean): Promise<void> {
  const end = clock.now() + limitMs
  while (!isIdle() && clock.now() < end) {
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve))
  }
}
