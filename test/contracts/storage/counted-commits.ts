import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { DurableRuns } from '../../../src/app/durable/durable-runs.ts'
import { TextSeal } from '../../../src/app/durable/sealed-text.ts'
import { ToolLoop } from '../../../src/chat/tool-loop.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { toolyard } from '../../../src/core/fixtures/code-yard.ts'
import { silentLog } from '../../../src/core/log.ts'
import { DEFAULT_QUOTA } from '../../../src/core/storage/quota.ts'
import { ModelCatalogue } from '../../../src/models/model-catalogue.ts'
import type { Storage } from '../../../src/storage/sql/engine.ts'
import { scripted } from '../../../src/testing/stand-ins.ts'

const READS: ReadonlySet<string> = new Set(['get', 'tenantOf', 'shown', 'data', 'owned', 'due', 'open', 'list', 'look'])

/** Runs a durable run whose turns call these tools, and gives the transactions of its store, in order. */
export async function countedCommits(storage: Storage, turns: readonly (readonly string[])[]): Promise<string[]> {
  const commits: string[] = []
  const counted = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          // Each of these methods is one transaction.
          if (!READS.has(String(name))) commits.push(String(name))
          return value.apply(target, args)
        }
      },
    })
  const [once, pauses, store] = [counted(storage.once), counted(storage.pauses), counted(storage.durableRuns)]
  const setup = toolyard({ once, approvals: { pauses } })
  setup.add('look', () => 'seen', { effect: 'read' })
  setup.add('write', () => 'written', { effect: 'write' })
  const slow = async () => {
    while (!commits.includes('settle')) await turn()
  }
  setup.add('slow', slow, { effect: 'read' })
  setup.add('put', () => 'put', { effect: 'idempotent' })
  const loop = new ToolLoop(setup.registry, setup.executor)
  const durable = new DurableRuns({
    ...{ store, once, pauses, clock: systemClock, log: silentLog, seal: new TextSeal(undefined) },
    quota: () => DEFAULT_QUOTA,
    loop: () => loop,
    models: async () => new ModelCatalogue([], []),
    contextOf: () => null,
    showsContents: () => true,
    onRun: () => {},
  })
  let n = 0
  const calls = (names: readonly string[]) => ({ calls: names.map((name) => ({ name, arguments: { n: n++ } })) })
  const context = { tenant: 'acme', caller: 'key-1', runId: randomUUID() }
  const model = scripted(...turns.map(calls), 'Done.')
  const events = durable.run({ model, messages: [{ role: 'user', content: 'Go' }], context, max_iterations: 9 })
  await Array.fromAsync(events)
  await durable.close()
  return commits
}
