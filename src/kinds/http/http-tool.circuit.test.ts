import { expect, test, vi } from 'vitest'
import { cancelled, timedOut } from '../../core/execution/call.ts'
import { unavailable } from '../../core/failure.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { Circuit, Circuits } from './http-tool.ts'

const down = (): ToolExecutionError => new ToolExecutionError('SERVICE_UNAVAILABLE', unavailable('weather'))
const answered404 = (): ToolExecutionError => new ToolExecutionError('EXECUTION_ERROR', 'answered 404 Not Found')

function circuit(failures?: number, openMs?: number) {
  const clock = new ManualClock()
  const log = captureLog()
  const circuit = new Circuit({ tool: 'weather', failures, openMs, clock, log })
  let asked = 0
  return {
    circuit,
    clock,
    log,
    /** How many attempts have been made. */
    asked: () => asked,
    /** What a call ends with: its value, or the error it fails with. */
    call: (outcome: unknown): Promise<unknown> =>
      circuit
        .run(() => {
          asked++
          return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome)
        })
        .catch((error: unknown) => error),
    /** A call whose outcome is decided later. */
    hold() {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const ended = circuit
        .run(() => {
          asked++
          return promise
        })
        .catch((error: unknown) => error)
      return { ended, resolve, reject }
    },
  }
}

async function opened(failures?: number, openMs?: number) {
  const parts = circuit(failures, openMs)
  for (let n = 0; n < (failures ?? 5); n++) await parts.call(down())
  expect(parts.circuit.state().state).toBe('open')
  return parts
}

test('returns or throws the result of the attempt', async () => {
  const { call, circuit: breaker } = circuit()
  const value = { a: 1 }
  const error = answered404()
  expect(await call(value)).toBe(value)
  expect(await call(error)).toBe(error)
  expect(breaker.state()).toEqual({ state: 'closed', failures: 0 })
})

test('rejects calls with the remaining time after five failures in a row', async () => {
  const { call, circuit: breaker, asked, clock } = circuit()
  for (let n = 0; n < 5; n++) expect(await call(n % 2 === 0 ? down() : timedOut(10_000))).toBeInstanceOf(Error)
  expect(breaker.state()).toMatchObject({ state: 'open', failures: 5, retry_in_ms: 30_000 })
  clock.advance(12_500)
  expect(await call('never asked')).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    message: "The service behind tool 'weather' is unavailable: it failed 5 times in a row. Try again in 18 s.",
    extras: {},
    repeat: { neverLeft: true, afterMs: 17_500 },
  })
  expect(asked()).toBe(5)
  expect(breaker.state()).toMatchObject({ state: 'open', failures: 5, retry_in_ms: 17_500 })
})

test('reports since when it is open or half-open', async () => {
  const { call, hold, circuit: breaker, clock } = circuit(1, 5_000)
  clock.advance(1_000)
  const opened = clock.wall()
  await call(down())
  clock.advance(4_000)
  expect(breaker.state()).toEqual({ state: 'open', failures: 1, retry_in_ms: 1_000, since: opened })
  clock.advance(1_000)
  const trial = hold()
  clock.advance(10)
  expect(breaker.state()).toEqual({ state: 'half_open', failures: 1, since: opened + 5_000 })
  trial.resolve('back')
  await trial.ended
  expect(breaker.state()).toEqual({ state: 'closed', failures: 0 })
})

test('resets the count after one success', async () => {
  const { call, circuit: breaker } = circuit(3)
  for (const outcome of [down(), down(), 'fine', down(), down()]) await call(outcome)
  expect(breaker.state()).toEqual({ state: 'closed', failures: 2 })
  await call(down())
  expect(breaker.state().state).toBe('open')
})

test.each([
  ['a 4xx or a refused address', answered404()],
  ['a 429', new ToolExecutionError('EXECUTION_ERROR', 'answered 429', {}, { repeat: { afterMs: 1 } })],
  ['a cancelled call', cancelled()],
  ['an answer that is too large', new ToolExecutionError('RESULT_TOO_LARGE', 'too large')],
  ['wrong parameters', new ToolExecutionError('INVALID_PARAMETERS', 'wrong')],
  ['a fault of our own', new TypeError('x is not a function')],
])('%s neither counts as a failure nor takes one back', async (_, error) => {
  const { call, circuit: breaker } = circuit(2)
  await call(down())
  for (let n = 0; n < 5; n++) expect(await call(error)).toBe(error)
  expect(breaker.state()).toEqual({ state: 'closed', failures: 1 })
})

test('failures that come together open it once', async () => {
  const { hold, circuit: breaker, log } = circuit(3)
  const calls = Array.from({ length: 8 }, hold)
  for (const { reject } of calls) reject(down())
  await Promise.all(calls.map(({ ended }) => ended))
  expect(breaker.state().state).toBe('open')
  expect(log.at('warn')).toHaveLength(1)
})

test('when the time is over one call tries, and all others are refused meanwhile', async () => {
  const { call, hold, circuit: breaker, asked, clock } = await opened(2, 5_000)
  clock.advance(4_999)
  expect(await call('too early')).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  clock.advance(1)
  expect(breaker.state()).toMatchObject({ state: 'open', failures: 2, retry_in_ms: 0 })
  const trial = hold()
  expect(breaker.state()).toMatchObject({ state: 'half_open', failures: 2 })
  const others = await Promise.all(Array.from({ length: 20 }, () => call('never asked')))
  for (const other of others) {
    expect(other).toMatchObject({ code: 'SERVICE_UNAVAILABLE', repeat: { neverLeft: true, afterMs: 1_000 } })
  }
  expect(asked()).toBe(3)
  trial.resolve('back')
  expect(await trial.ended).toBe('back')
  expect(breaker.state()).toEqual({ state: 'closed', failures: 0 })
  expect(await call('again')).toBe('again')
})

test('a trial that fails opens it for the whole time again', async () => {
  const { call, circuit: breaker, clock } = await opened(2, 5_000)
  clock.advance(7_000)
  const error = timedOut(10_000)
  expect(await call(error)).toBe(error)
  expect(breaker.state()).toMatchObject({ state: 'open', failures: 3, retry_in_ms: 5_000 })
  clock.advance(5_000)
  expect(await call('back')).toBe('back')
  expect(breaker.state().state).toBe('closed')
})

test.each([
  ['a 4xx', answered404()],
  ['more than is read', new ToolExecutionError('RESULT_TOO_LARGE', 'too large')],
])('a trial that is answered with %s has found the service there', async (_, answer) => {
  const { call, circuit: breaker, clock } = await opened(2, 5_000)
  clock.advance(5_000)
  expect(await call(answer)).toBe(answer)
  expect(breaker.state()).toEqual({ state: 'closed', failures: 0 })
})

test.each([
  ['cancelled', cancelled()],
  ['never sent for its parameters', new ToolExecutionError('INVALID_PARAMETERS', 'wrong')],
  ['broken by a fault of our own', new TypeError('x is not a function')],
])('a trial that is %s decides nothing, and the next caller tries at once', async (_, error) => {
  const { call, circuit: breaker, clock, log } = await opened(2, 5_000)
  clock.advance(5_000)
  for (let n = 0; n < 3; n++) expect(await call(error)).toBe(error)
  expect(breaker.state()).toMatchObject({ state: 'open', failures: 2, retry_in_ms: 0 })
  expect(log.at('warn')).toHaveLength(1)
  expect(await call('back')).toBe('back')
  expect(breaker.state()).toEqual({ state: 'closed', failures: 0 })
})

test('ignores calls that started before it opened', async () => {
  const { call, hold, circuit: breaker, clock, log } = circuit(2, 5_000)
  const [slow, slower, slowest] = [hold(), hold(), hold()]
  await call(down())
  await call(down())
  slow.resolve('late')
  slower.reject(down())
  expect(await slow.ended).toBe('late')
  await slower.ended
  expect(breaker.state()).toMatchObject({ state: 'open', failures: 2, retry_in_ms: 5_000 })
  clock.advance(5_000)
  const trial = hold()
  slowest.reject(down())
  await slowest.ended
  expect(breaker.state().state).toBe('half_open')
  trial.resolve('back')
  await trial.ended
  expect(breaker.state()).toEqual({ state: 'closed', failures: 0 })
  expect(log.lines).toHaveLength(2)
})

test('logs when it opens and closes', async () => {
  const { call, clock, log } = await opened(2, 5_000)
  await call('refused')
  clock.advance(5_000)
  await call('back')
  await call('again')
  expect(log.lines.map(({ level, fields }) => [level, fields])).toEqual([
    ['warn', { tool: 'weather', failures: 2, open_ms: 5_000 }],
    ['info', { tool: 'weather' }],
  ])
})

test('a wall clock that is set back holds no circuit open', async () => {
  const { call, circuit: breaker, clock } = await opened(2, 5_000)
  const set = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 86_400_000)
  try {
    clock.advance(5_000)
    expect(await call('back')).toBe('back')
    expect(breaker.state().state).toBe('closed')
  } finally {
    set.mockRestore()
  }
})

test('says "once" if it opens at the first failure', async () => {
  const { call } = await opened(1, 200)
  expect(await call('refused')).toMatchObject({
    message: "The service behind tool 'weather' is unavailable: it failed once. Try again in 1 s.",
  })
})

const failing = (circuits: Circuits, tenant: string, error: Error = down()) =>
  circuits.run(tenant, () => Promise.reject(error)).catch((thrown: unknown) => thrown)

test('failures of one tenant open the circuit for no other', async () => {
  const circuits = new Circuits({ tool: 'weather', failures: 2, clock: new ManualClock() })
  for (let n = 0; n < 3; n++) await failing(circuits, 'greedy')
  expect(await failing(circuits, 'greedy')).toMatchObject({
    message: expect.stringContaining('failed 2 times in a row'),
  })
  expect(await circuits.run('modest', async () => 'asked')).toBe('asked')
  expect(circuits.state('greedy')).toMatchObject({ state: 'open', failures: 2 })
  expect(circuits.state('modest')).toEqual({ state: 'closed', failures: 0 })
  expect(circuits.state(undefined)).toMatchObject({ state: 'open', failures: 2 })
})

test('a service that is down opens the circuit of each tenant that calls it', async () => {
  const circuits = new Circuits({ tool: 'weather', failures: 2, clock: new ManualClock() })
  for (const tenant of ['a', 'b', 'a', 'b']) await failing(circuits, tenant)
  expect(['a', 'b'].map((tenant) => circuits.state(tenant).state)).toEqual(['open', 'open'])
})

test('only tenants with failures have a circuit, and at most 1,000', async () => {
  const circuits = new Circuits({ tool: 'weather', failures: 2, clock: new ManualClock() })
  await circuits.run('a', async () => 1)
  await failing(circuits, 'a', answered404())
  expect(circuits.size).toBe(0)
  await failing(circuits, 'a')
  expect(circuits.size).toBe(1)
  await circuits.run('a', async () => 1)
  expect(circuits.size).toBe(0)
  for (let n = 0; n < 1_100; n++) await failing(circuits, `t${n}`)
  expect(circuits.size).toBe(1_000)
})

test('counts calls that overlap with the success that removed the circuit', async () => {
  const circuits = new Circuits({ tool: 'weather', failures: 2, clock: new ManualClock() })
  await failing(circuits, 'a')
  const { promise, reject } = Promise.withResolvers<never>()
  const overlapping = [1, 2].map(() => circuits.run('a', () => promise).catch(() => {}))
  await circuits.run('a', async () => 1)
  reject(down())
  await Promise.all(overlapping)
  expect(circuits.state('a').state).toBe('open')
})
