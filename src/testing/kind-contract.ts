import assert from 'node:assert/strict'
import { ToolExecutor } from '../core/execution/tool-executor.ts'
import { ToolRegistry } from '../core/execution/tool-registry.ts'
import type { Kind } from '../core/handler.ts'
import type { Params, ToolDefinition } from '../core/tool.ts'

/** A kind, with a tool to test it with. */
export interface KindUnderTest {
  readonly kind: Kind
  /** A valid definition, including `implementation.type`. */
  readonly tool: ToolDefinition
  readonly params: Params
  readonly result: unknown
  /** What of a result is the same in every call. Default: all of it. */
  readonly constant?: (result: unknown) => unknown
  /** Other tools that the tool calls, and their kinds. */
  readonly others?: { readonly tools: readonly ToolDefinition[]; readonly kinds: Readonly<Record<string, Kind>> }
  /** A definition whose implementation lacks something, and the error that a call must return. */
  readonly lacking?: { readonly tool: ToolDefinition; readonly error: string }
}

/** A clause of a contract: `run` throws if it is violated. Works with any test runner. */
export interface ContractCase {
  readonly name: string
  run(): Promise<void>
}

/** The contract that the executor relies on, for any kind of tool. */
export function kindContract(tested: KindUnderTest): ContractCase[] {
  const { kind, tool, params, result, others, lacking, constant = (all) => all } = tested
  const executorWith = (definition: ToolDefinition) => {
    const registry = new ToolRegistry()
    for (const one of [definition, ...(others?.tools ?? [])]) registry.register(one)
    return new ToolExecutor(registry, { kinds: { ...others?.kinds, [definition.implementation.type]: kind } })
  }
  const cases: ContractCase[] = [
    {
      name: 'has a default effect',
      async run() {
        const { effect: _, ...without } = tool
        assert.ok(['read', 'idempotent', 'write'].includes(kind.effect(without as ToolDefinition)))
      },
    },
    {
      name: 'has no warning about a valid definition',
      async run() {
        assert.equal(kind.fault?.(tool) ?? kind.warning?.(tool), undefined)
      },
    },
    {
      name: 'returns the result in an envelope',
      async run() {
        const { execution_time_ms, ...envelope } = await executorWith(tool).execute(tool.name, params)
        const shown = envelope.success ? { ...envelope, result: constant(envelope.result) } : envelope
        assert.deepEqual(shown, { success: true, result, tool_name: tool.name })
        assert.ok(execution_time_ms >= 0)
      },
    },
    {
      name: 'does not change the definition or the parameters',
      async run() {
        const before = JSON.stringify([tool, params])
        await executorWith(tool).execute(tool.name, params)
        assert.equal(JSON.stringify([tool, params]), before)
      },
    },
    {
      name: 'returns the same result after the caller has changed the first one',
      async run() {
        const executor = executorWith(tool)
        const first = await executor.execute(tool.name, params)
        if (first.success && typeof first.result === 'object' && first.result !== null) {
          for (const key of Object.keys(first.result)) Reflect.deleteProperty(first.result, key)
        }
        const second = await executor.execute(tool.name, params)
        assert.deepEqual(second.success && constant(second.result), result)
      },
    },
    {
      name: 'does not run for an aborted signal',
      async run() {
        const envelope = await executorWith(tool).execute(tool.name, params, { signal: AbortSignal.abort() })
        assert.equal(!envelope.success && envelope.error_code, 'CANCELLED')
      },
    },
  ]
  if (lacking !== undefined) {
    cases.push({
      name: 'warns about an incomplete definition, and fails with the same message when called',
      async run() {
        assert.equal(kind.fault?.(lacking.tool), lacking.error)
        const envelope = await executorWith(lacking.tool).execute(lacking.tool.name, params)
        assert.equal(!envelope.success && envelope.error, lacking.error)
        assert.equal(!envelope.success && envelope.error_code, 'EXECUTION_ERROR')
      },
    })
  }
  return cases
}
