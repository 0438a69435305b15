import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { Installation } from '../installation.ts'
import { Rollouts } from './rollouts.ts'

const ANN = { id: 'ann', name: 'Ann' }

const greet = (version: string) => ({
  name: 'greet',
  version,
  description: 'Greets.',
  parameters: { type: 'object' },
  implementation: { type: 'internal', handler: version },
})

/** An installation whose version 2.0.0 always fails, and the rollouts of a second server on its store. */
async function opened(greetRollout: object, folder?: string, more: Config = {}) {
  const data = folder ?? (await mkdtemp(join(tmpdir(), 'toolyard-rollouts-')))
  if (folder === undefined) onTestFinished(() => rm(data, { recursive: true, force: true }))
  const log = captureLog()
  const registry = [greet('1.0.0'), greet('2.0.0'), greet('3.0.0')]
  const rollout = { greet: greetRollout as { current: string } }
  const config = { tools: { enabled: true, registry, rollout }, ...more }
  const handlers = new ToolHandlers()
  for (const version of ['1.0.0', '3.0.0']) handlers.register(version, () => version)
  handlers.register('2.0.0', () => Promise.reject(new Error('broken')))
  const installation = await Installation.open({ config, handlers, log, env: { TOOLYARD_DATA: data } })
  onTestFinished(() => installation.close())
  const { storage, clock, events, rollouts } = installation
  const parts = { settings: storage.settings, ledger: storage.ledger, events, clock, log }
  const second = new Rollouts({ ...parts, registry: () => installation.manager.getRegistry() })
  second.configure(config)
  await second.load()
  /** Calls both versions as often. */
  const call = async (times: number) => {
    for (let one = 0; one < times; one++) {
      await installation.manager.getExecutor().execute('greet@1.0.0', {})
      await installation.manager.getExecutor().execute('greet@2.0.0', {})
    }
    installation.manager.getExecutor().flush()
    await installation.sink.flush()
  }
  const rows = async () => {
    await installation.sink.flush()
    const { rows: all } = await storage.ledger.audit({ tenant: undefined, type: 'event', limit: 100 } as never)
    return all.flatMap(({ event }) => (event?.startsWith('rollout.') ? event : [])).toReversed()
  }
  return { installation, rollouts, second, call, rows, data, log }
}

const GUARD = { min_calls: 20, max_error_increase: 0.1 }

test('the guards of two servers roll back once', async () => {
  const { rollouts, second, call, rows, log } = await opened({ current: '1.0.0' })
  await rollouts.start('greet', { candidate: '2.0.0', percent: 10, guard: GUARD }, ANN)
  await second.load()
  await call(20)
  await Promise.all([rollouts.checkGuards(), second.checkGuards(), rollouts.checkGuards(), second.checkGuards()])
  expect(await rows()).toEqual(['rollout.started', 'rollout.rolled_back'])
  expect(log.at('warn').filter((fields) => Object.hasOwn(fields, 'candidate'))).toHaveLength(1)
})

test('a guard rolls back a candidate that burns an objective of its tool, before the comparison has enough calls', async () => {
  const objectives = [
    { tool: 'other', success: 0.99, min_calls: 1 },
    { tool: 'greet', success: 0.95 },
  ]
  const { rollouts, call, rows, log } = await opened({ current: '1.0.0' }, undefined, { objectives })
  await rollouts.start('greet', { candidate: '2.0.0', percent: 10, guard: { min_calls: 500 } }, ANN)
  await call(19)
  await rollouts.checkGuards()
  expect(await rows()).toEqual(['rollout.started'])
  await call(1)
  await rollouts.checkGuards()
  expect(await rows()).toEqual(['rollout.started', 'rollout.rolled_back'])
  const reason = "its calls spend the error budget of 'greet success 0.95 30d' 20.0 times as fast as planned"
  expect(log.lines).toContainEqual(expect.objectContaining({ message: `Rollout rolled back by its guard: ${reason}` }))
})

test('a change sees what another server has changed, even before it heard of it', async () => {
  const { rollouts, second, rows } = await opened({ current: '1.0.0' })
  await rollouts.start('greet', { candidate: '2.0.0', percent: 10 }, ANN)
  await second.start('greet', { candidate: '3.0.0', percent: 10 }, ANN)
  await rollouts.promote('greet', ANN)
  expect(rollouts.of('greet')).toMatchObject({ current: '3.0.0' })
  await second.start('greet', { candidate: '2.0.0', percent: 10 }, ANN)
  const results = await Promise.allSettled([
    ...[rollouts, second, rollouts].map((one) => one.promote('greet', ANN)),
    ...[rollouts, second].map((one) => one.rollBack('greet', ANN)),
  ])
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await rows()).toHaveLength(5)
})

test('a rollout that is started again by a person is not rolled back for its calls before', async () => {
  const { rollouts, second, call, rows } = await opened({ current: '1.0.0' })
  await rollouts.start('greet', { candidate: '2.0.0', percent: 10, guard: GUARD }, ANN)
  await call(20)
  await rollouts.start('greet', { candidate: '2.0.0', percent: 20, guard: GUARD }, ANN)
  await Promise.all([rollouts.checkGuards(), second.checkGuards()])
  expect(await rows()).toEqual(['rollout.started', 'rollout.started'])
})

test('calls before a configured rollout do not roll it back, nor those before it is reset', async () => {
  const first = await opened({ current: '1.0.0' })
  await first.call(20)
  await first.installation.close()
  const guarded = { current: '1.0.0', candidate: '2.0.0', percent: 0, guard: GUARD }
  const { rollouts, call, rows, installation, data } = await opened(guarded, first.data)
  await rollouts.checkGuards()
  expect(await rows()).toEqual([])
  // A restart with the same configuration goes on counting.
  await call(10)
  await installation.close()
  const again = await opened(guarded, data)
  await again.call(10)
  await again.rollouts.checkGuards()
  expect(again.rollouts.of('greet')).toMatchObject({ current: '1.0.0', started_at: expect.any(String) })
  expect(await again.rollouts.reset('greet', ANN)).toBe(true)
  expect(again.rollouts.of('greet')).toEqual(guarded)
  await again.rollouts.checkGuards()
  expect(await again.rows()).toEqual(['rollout.rolled_back', 'rollout.reset'])
  expect(await again.rollouts.reset('greet', ANN)).toBe(false)
})

test('a start can name the current version', async () => {
  const { rollouts, installation } = await opened({ current: '3.0.0' })
  await expect(rollouts.start('greet', { candidate: '3.0.0', percent: 10 }, ANN)).rejects.toThrow(
    'set current to the version that the other callers get',
  )
  await rollouts.start('greet', { current: '1.0.0', candidate: '3.0.0', percent: 0 }, ANN)
  expect(await installation.manager.getExecutor().execute('greet', {})).toMatchObject({ result: '1.0.0' })
  await expect(rollouts.start('greet', { current: '9.0.0', candidate: '3.0.0', percent: 0 }, ANN)).rejects.toThrow(
    "has no version '9.0.0'",
  )
})

test('a tool whose candidate writes counts as one that writes, and so does a pipeline that calls it', async () => {
  const data = await mkdtemp(join(tmpdir(), 'toolyard-rollouts-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  const mock = (version: string, effect: string) => ({
    ...greet(version),
    effect,
    implementation: { type: 'mock', mock_response: version },
  })
  const steps = [{ id: 'one', tool: 'greet' }]
  const pipeline = { ...greet('1.0.0'), name: 'all', implementation: { type: 'pipeline', steps } }
  const registry = [mock('1.0.0', 'read'), mock('2.0.0', 'write'), pipeline]
  const rollout = { greet: { current: '1.0.0', candidate: '2.0.0', percent: 10 } }
  const config = { tools: { enabled: true, registry, rollout } }
  const installation = await Installation.open({ config, log: captureLog(), env: { TOOLYARD_DATA: data } })
  onTestFinished(() => installation.close())
  const executor = installation.manager.getExecutor()
  const effects = () => ['greet', 'all', 'greet@1.0.0', 'greet@2.0.0'].map((name) => executor.effectOf(name))
  expect(effects()).toEqual(['write', 'write', 'read', 'write'])
  await installation.rollouts.rollBack('greet', ANN)
  expect(effects()).toEqual(['read', 'read', 'read', 'write'])
})
