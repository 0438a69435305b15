import { expect, test, vi } from 'vitest'
import { ManualClock } from '../testing/stand-ins.ts'
import { hostile, mcpYard } from './fixtures/mcp-yard.ts'

/** A server that ends before it has answered. */
const absent = {
  type: 'stdio',
  command: process.execPath,
  args: ['-e', 'console.error("no broker"); process.exit(1)'],
  env: {},
} as const

test('reports the state of a connection that is made, lost and restored', async () => {
  const { mcp, call } = mcpYard({ hostile: hostile() })
  const connection = mcp.connection('hostile')
  expect(connection.standing()).toMatchObject({ state: 'not_reachable', attempts: 0, since: undefined })
  const started = mcp.start()
  expect(connection.standing().state).toBe('connecting')
  await started
  expect(connection.standing()).toMatchObject({
    state: 'connected',
    transport: 'stdio',
    attempts: 1,
    since: expect.any(Number),
    nextAttemptInMs: undefined,
    problem: undefined,
  })
  await call('kill-self')
  await vi.waitFor(() => expect(connection.standing().state).toBe('connected'))
  expect(connection.standing()).toMatchObject({ attempts: 1, problem: { text: 'the connection was lost' } })
})

test('reports the next attempt, and reconnects without waiting for it', async () => {
  const clock = new ManualClock()
  const { mcp, log } = mcpYard({ absent }, { clock })
  const connection = mcp.connection('absent')
  void mcp.start()
  const waits = () => vi.waitFor(() => expect(connection.standing().nextAttemptInMs).toBeGreaterThan(0))
  await waits()
  expect(connection.standing()).toMatchObject({
    state: 'not_reachable',
    attempts: 1,
    nextAttemptInMs: 2_000,
    problem: { text: 'it closed the connection before it answered' },
    stderr: 'no broker',
  })
  clock.advance(500)
  expect(connection.standing().nextAttemptInMs).toBe(1_500)
  clock.advance(1_500)
  await vi.waitFor(() => expect(connection.standing().nextAttemptInMs).toBe(4_000))
  expect(connection.standing().attempts).toBe(2)
  void connection.reconnect()
  await vi.waitFor(() => expect(connection.standing().nextAttemptInMs).toBe(2_000))
  expect(connection.standing().attempts).toBe(1)
  // One plan runs, not two.
  expect(clock.pending).toBe(1)
  expect(log.lines.filter(({ message }) => message === 'MCP connection attempt 1 of 3')).toHaveLength(2)
})
