import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { CallContext } from '../../src/core/call-context.ts'
import { systemClock } from '../../src/core/clock.ts'
import { MemoryOnce } from '../../src/core/execution/once.ts'
import { ResultCache } from '../../src/core/execution/result-cache.ts'
import type { ToolExecutorOptions } from '../../src/core/execution/runner.ts'
import { ToolExecutor } from '../../src/core/execution/tool-executor.ts'
import { ToolRegistry } from '../../src/core/execution/tool-registry.ts'
import type { Handler, IsolatedTask, Kind } from '../../src/core/handler.ts'
import { type Log, silentLog } from '../../src/core/log.ts'
import { LocalRates } from '../../src/core/rates.ts'
import type { CallBatch } from '../../src/core/records/recorder.ts'
// The first call would load it.
import '../../src/core/schema/compiled-schema.ts'
import type { ToolDefinition } from '../../src/core/tool.ts'
import { ToolExecutionError, type ToolResult } from '../../src/core/tool-result.ts'
import { openSqliteEngine } from '../../src/storage/sqlite/sqlite-engine.ts'
import { ManualClock } from '../../src/testing/stand-ins.ts'

/** An executor that records what it asks of everything around it, in order. */
export type TracedYard = Awaited<ReturnType<typeof tracedYard>>

export async function tracedYard(options: Partial<ToolExecutorOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-trace-'))
  const clock = new ManualClock()
  const engine = await openSqliteEngine(
    { folder, instance: randomUUID(), keepDays: 7 },
    { log: silentLog, clock: { ...systemClock, wall: () => clock.wall() } },
  )
  onTestFinished(async () => {
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  })
  const lines: string[] = []
  const say = (text: string) => void lines.push(text)

  /** The part, whose calls are recorded with what `shown` says of their arguments. */
  const traced = <Part extends object>(
    name: string,
    part: Part,
    shown: (...args: never[]) => string = () => '',
  ): Part =>
    new Proxy(part, {
      get(target, key) {
        const method: unknown = Reflect.get(target, key)
        if (typeof method !== 'function') return method
        return (...args: never[]) => {
          say(`${name}.${String(key)} ${shown(...args)}`.trimEnd())
          return method.apply(target, args)
        }
      },
    })

  const line =
    (level: string) =>
    (_: object, message: string): void =>
      say(`log.${level} ${message}`)
  const log: Log = {
    isLevelEnabled: () => true,
    ...{ debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
  }
  const spent = { is: false }
  const budgets: ToolExecutorOptions['budgets'] = {
    async take({ tool }, expected) {
      say(`budgets.take ${tool} ${expected}`)
      if (spent.is) throw new ToolExecutionError('RATE_LIMITED', 'The budget is spent')
      return { hold: { id: 'h', micros: expected ?? 0 }, warnings: ['Nearly spent'] }
    },
    turn() {},
  }
  const connected = { is: true }
  const accounts: ToolExecutorOptions['accounts'] = {
    problem: () => undefined,
    async require(provider) {
      say(`accounts.require ${provider}`)
      if (!connected.is) throw new ToolExecutionError('CONNECTION_REQUIRED', `Connect ${provider}`)
    },
    token: async () => 'token',
  }
  const executed = {
    effect: (): 'write' => 'write',
    runsProgram: false,
    account: ({ implementation }: ToolDefinition) => implementation.account as string | undefined,
    callees: ({ implementation }: ToolDefinition) => (implementation.calls as string[] | undefined) ?? [],
    bind: ({ implementation }: ToolDefinition) => {
      const { isolated, run } = implementation as unknown as { isolated?: boolean; run: Handler }
      return () => (isolated === true ? { module: 'module.js', export: 'run' } : run)
    },
  } satisfies Kind
  const { callees: _, ...plain } = executed
  const registry = new ToolRegistry({ log })
  const executor = new ToolExecutor(registry, {
    kinds: { plain, caller: executed },
    log,
    clock,
    random: () => 0.5,
    rates: traced('rates', new LocalRates(), (key: string) => key),
    cache: traced('cache', new ResultCache(clock)),
    once: traced('once', engine.once, ({ key }: { key: string }) => key.replace('\n', ' ')),
    approvals: {
      pauses: traced('approvals', engine.pauses),
      onAsk: () => say('approvals.onAsk'),
    },
    budgets,
    accounts,
    compilePath: () => ({ find: (value) => (value as { price?: number }).price }),
    isolate: {
      async run(task: IsolatedTask) {
        say(`isolate.run ${task.module}`)
        task.started = true
        return { isolated: true }
      },
      close: async () => {},
    },
    tracer: {
      start(kind, name) {
        say(`span.start ${kind} ${name}`)
        return {
          traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
          end: (facts) => say(`span.end ${shortly(facts)}`),
        }
      },
    },
    payload(call, outcome) {
      say(`payload ${'result' in outcome ? 'of the result' : 'of the error'}`)
      return { params: call.params ?? null, ...outcome } as never
    },
    sinks: [
      {
        write({ records }: CallBatch) {
          for (const { tool, code, attempts, cost, outcomeUnknown, source, version } of records) {
            say(`record ${shortly({ tool, code, attempts, cost, outcomeUnknown, source, version })}`)
          }
        },
      },
    ],
    ...options,
  })

  const define = (name: string, run: Handler, rest: Partial<ToolDefinition> = {}): ToolDefinition => ({
    name,
    description: name,
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    implementation: {
      type: 'plain',
      run: (params: never, context: never) => {
        say(`run ${name} ${shortly(params)}`)
        return run(params, context)
      },
      ...(rest.implementation as object | undefined),
    },
    ...omitted(rest),
  })
  const add = (name: string, run: Handler, rest: Partial<ToolDefinition> = {}) =>
    registry.register(define(name, run, rest))

  /** Waits for the outcome. Time stands still, or else goes on while something waits for it. */
  async function settled<Value>(work: Promise<Value>, goesOn: boolean): Promise<Value> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    work.then(over, over)
    while (goesOn && !isOver) {
      await turn()
      if (clock.pending > 0) clock.advance(10)
    }
    return work
  }

  async function said(what: string, work: () => unknown, goesOn = false): Promise<unknown> {
    say(`> ${what}`)
    const answer = await settled((async () => work())(), goesOn).catch((error: Error) => ({ thrown: error.message }))
    executor.flush()
    await turn()
    say(`= ${shortly(answer)}`)
    return answer
  }

  return {
    ...{ executor, registry, engine, clock, spent, connected, add, define, say, said, lines },
    /** Calls a tool, and records the call, its trace and its envelope. */
    call: (name: string, params: unknown = {}, context: CallContext = {}, goesOn?: boolean) =>
      said(
        `${name} ${shortly(params)} ${shortly(context)}`,
        () => executor.execute(name, params, context),
        goesOn,
      ) as Promise<ToolResult>,
    memoryOnce: () => traced('run-once', new MemoryOnce(clock), ({ key }: { key: string }) => key),
  }
}

const omitted = ({ implementation: _, ...rest }: Partial<ToolDefinition>): Partial<ToolDefinition> => rest

/** JSON on one line. Functions and signals are only named, times depend on the machine. */
function shortly(value: unknown): string {
  const text = JSON.stringify(value, (key, one) => {
    if (key === 'execution_time_ms') return 'ms'
    if (key === 'once' || key === 'signal' || key === 'report' || typeof one === 'function') return key
    if (one instanceof Set) return [...one]
    if (typeof one === 'bigint') return `${one}n`
    return one
  })
  return text ?? String(value)
}

/** The lines with ids named in the order in which they appear. */
export function named(lines: readonly string[]): string {
  const names = new Map<string, string>()
  return lines
    .join('\n')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|\b[\da-f]{64}\b/g, (id) => {
      const name = names.get(id) ?? `id-${names.size + 1}`
      names.set(id, name)
      return name
    })
}
