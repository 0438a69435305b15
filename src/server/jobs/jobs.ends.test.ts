import { describe, expect, test, vi } from 'vitest'
import type { Installation } from '../../app/installation.ts'
import type { NewJob } from '../../core/storage/job-store.ts'
import { LocalJobQueue } from '../../storage/local-job-queue.ts'
import { blockedHandler, caller, deadServer, jobSetup } from './fixtures/job-setup.ts'
import { Jobs } from './jobs.ts'

const ADA = caller('acme', 'ada')
const NOW = new Date().toISOString()

const leftOver = (tool: string, params: unknown = {}): NewJob => ({
  id: 'left-over',
  tenant: 'acme',
  caller: 'ada',
  tool,
  params: { params },
  timeout_ms: 30_000,
  created_at: NOW,
})

describe('cancelling', () => {
  test('ends a job that runs, and says that a write may have happened', async () => {
    const slow = blockedHandler()
    const { jobs, start, until } = await jobSetup({ slow: { run: slow.run } })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    await until(ADA, id, ({ state }) => state === 'running')
    await vi.waitFor(() => expect(slow.calls).toHaveLength(1))
    expect(await jobs.cancel(ADA, id)).toMatchObject({
      state: 'cancelled',
      ended_at: expect.any(String),
      result: { success: false, error_code: 'CANCELLED', outcome: 'unknown' },
    })
    expect(slow.calls[0]?.aborted).toBe(true)
  })

  test('ends a job that waits, which then never runs', async () => {
    const slow = blockedHandler()
    const { jobs, start, installation } = await jobSetup({ slow: { run: slow.run } }, { work: false })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    const cancelled = await jobs.cancel(ADA, id)
    expect(cancelled).toMatchObject({ state: 'cancelled', result: { error_code: 'CANCELLED' } })
    expect(cancelled?.result).not.toHaveProperty('outcome')
    await jobs.work()
    expect(await installation.storage.jobs.waiting(10)).toEqual([])
    expect(slow.calls).toEqual([])
  })

  test('changes nothing about a job that has ended', async () => {
    const { jobs, start, ended } = await jobSetup({ look: { run: () => 'seen' } })
    const { id } = await start(ADA, { tool_name: 'look', params: {} })
    const before = await ended(ADA, id)
    expect(await jobs.cancel(ADA, id)).toEqual(before)
  })

  test('reaches the server that runs the job', async () => {
    const slow = blockedHandler()
    const there = await jobSetup({ slow: { run: slow.run } })
    const here = await jobSetup({ slow: { run: slow.run } }, { folder: there.folder, work: false })
    const { id } = await there.start(ADA, { tool_name: 'slow', params: {} })
    await vi.waitFor(() => expect(slow.calls).toHaveLength(1))
    expect(await here.jobs.cancel(ADA, id)).toMatchObject({ state: 'cancelled', result: { outcome: 'unknown' } })
    await vi.waitFor(() => expect(slow.calls[0]?.aborted).toBe(true))
    expect(await there.jobs.get(ADA, id)).toMatchObject({ state: 'cancelled' })
  })
})

describe('a job whose server died', () => {
  test('runs again if the tool only reads', async () => {
    let runs = 0
    const { folder, jobs, ended, installation } = await jobSetup(
      { look: { run: () => ++runs, effect: 'read' } },
      { work: false },
    )
    await installation.storage.jobs.create(leftOver('look'))
    await deadServer(folder, async (storage) => void (await storage.jobs.take('left-over', NOW)))
    await jobs.work()
    expect(await ended(ADA, 'left-over')).toMatchObject({ state: 'done', result: { success: true, result: 1 } })
  })

  test('never runs again after a write has started', async () => {
    let runs = 0
    const tools = { pay: { run: () => ++runs } }
    const first = await jobSetup(tools, { work: false })
    await first.installation.storage.jobs.create(leftOver('pay', { sum: 5 }))
    // Begun by the executor of a server that is gone before the answer is there.
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const pay = () => {
      begin()
      return new Promise(() => {})
    }
    const stuck = await jobSetup({ pay: { run: pay } }, { folder: first.folder, work: false })
    const { callers, manager, storage } = stuck.installation
    await storage.jobs.take('left-over', NOW)
    const context = { ...callers.context(ADA, 'job'), idempotencyKey: 'left-over' }
    void manager.getExecutor().execute('pay', { sum: 5 }, context)
    await begun
    await storage.close()
    await first.jobs.work()
    expect(await first.ended(ADA, 'left-over')).toMatchObject({
      state: 'done',
      result: { success: false, error_code: 'EXECUTION_ERROR', outcome: 'unknown' },
    })
    expect(runs).toBe(0)
  })

  test('runs if the server crashed before the write started', async () => {
    let runs = 0
    const { folder, jobs, ended, installation } = await jobSetup({ pay: { run: () => ++runs } }, { work: false })
    await installation.storage.jobs.create(leftOver('pay'))
    await deadServer(folder, async (storage) => void (await storage.jobs.take('left-over', NOW)))
    await jobs.work()
    expect(await ended(ADA, 'left-over')).toMatchObject({ result: { success: true, result: 1 } })
  })

  test('has an unknown outcome if its tool no longer exists', async () => {
    const { folder, jobs, ended, installation } = await jobSetup({}, { work: false })
    await installation.storage.jobs.create(leftOver('gone'))
    await deadServer(folder, async (storage) => void (await storage.jobs.take('left-over', NOW)))
    await jobs.work()
    expect(await ended(ADA, 'left-over')).toMatchObject({
      result: { error_code: 'TOOL_NOT_FOUND', outcome: 'unknown' },
    })
  })

  test('is given up when servers keep dying of it', async () => {
    let runs = 0
    const { folder, jobs, ended, installation } = await jobSetup(
      { look: { run: () => ++runs, effect: 'read' } },
      { work: false },
    )
    await installation.storage.jobs.create(leftOver('look'))
    for (let died = 0; died < 3; died++) {
      await deadServer(folder, async (storage) => void (await storage.jobs.take('left-over', NOW)))
    }
    await jobs.work()
    expect(await ended(ADA, 'left-over')).toMatchObject({
      result: { error_code: 'EXECUTION_ERROR', error: expect.stringContaining('started 3 times') },
    })
    expect(runs).toBe(0)
  })
})

describe('the end of a server', () => {
  test('waits for jobs that end in time', async () => {
    const slow = blockedHandler()
    const { folder, start, close } = await jobSetup({ slow: { run: slow.run } })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    await vi.waitFor(() => expect(slow.calls).toHaveLength(1))
    const closing = close(30_000)
    slow.open('done')
    await closing
    const next = await jobSetup({}, { folder, work: false })
    expect(await next.jobs.get(ADA, id)).toMatchObject({ state: 'done', result: { result: 'done' } })
  })

  test('leaves repeatable calls to the next server', async () => {
    const slow = blockedHandler()
    const { folder, start, close } = await jobSetup({ slow: { run: slow.run, effect: 'read' } })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    await vi.waitFor(() => expect(slow.calls).toHaveLength(1))
    await close()
    expect(slow.calls[0]?.aborted).toBe(true)
    const next = await jobSetup({ slow: { run: () => 'again', effect: 'read' } }, { folder })
    expect(await next.ended(ADA, id)).toMatchObject({ state: 'done', result: { result: 'again' } })
  })

  test('ends a write as one that may have happened', async () => {
    const slow = blockedHandler()
    const { folder, start, close } = await jobSetup({ slow: { run: slow.run } })
    const { id } = await start(ADA, { tool_name: 'slow', params: {} })
    await vi.waitFor(() => expect(slow.calls).toHaveLength(1))
    await close()
    const next = await jobSetup({ slow: { run: () => 'again' } }, { folder })
    expect(await next.ended(ADA, id)).toMatchObject({
      state: 'done',
      result: { error_code: 'CANCELLED', outcome: 'unknown', error: expect.stringContaining('server shut down') },
    })
  })
})

describe('a store that fails', () => {
  /** The same installation, but for what the store does with jobs. */
  function withStore(real: Installation, change: Partial<Installation['storage']['jobs']>): Jobs {
    const { storage, manager, callers, tenants, clock, log, config } = real
    const installation = {
      manager,
      callers,
      tenants,
      clock,
      log,
      config,
      storage: { ...storage, jobs: { ...storage.jobs, ...change } },
    }
    const queue = new LocalJobQueue(installation.storage.jobs, { clock, log })
    return new Jobs({ installation: installation as unknown as Installation, queue })
  }

  test('refuses a job with an envelope that leaks nothing', async () => {
    const { installation } = await jobSetup({ look: { run: () => 1 } }, { work: false })
    const jobs = withStore(installation, {
      create: async () => {
        throw new Error('disk full at /secret/place')
      },
    })
    expect(await jobs.start(ADA, { tool_name: 'look', params: {} })).toEqual({
      refused: {
        success: false,
        error: 'The job store is unavailable: the job was not started. Try again later',
        error_code: 'SERVICE_UNAVAILABLE',
        tool_name: 'look',
        execution_time_ms: expect.any(Number),
      },
    })
  })

  test('gets the result of a job again until it is stored', async () => {
    const { installation, ended } = await jobSetup({ look: { run: () => 'seen' } }, { work: false })
    let tries = 0
    const jobs = withStore(installation, {
      end: async (...args) => {
        if (++tries < 3) throw new Error('busy')
        return installation.storage.jobs.end(...args)
      },
    })
    await installation.storage.jobs.create(leftOver('look'))
    await jobs.work()
    expect(await ended(ADA, 'left-over')).toMatchObject({ state: 'done', result: { result: 'seen' } })
    expect(tries).toBe(3)
    await jobs.close(0)
  })
})
