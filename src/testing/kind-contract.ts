import assert from 'node:assert/strict'
import type { Kind } from '../core/kind.ts'
import type { Params, ToolDefinition } from '../core/tool.ts'
import { ToolExecutor } from '../core/tool-executor.ts'
import { ToolRegistry } from '../core/tool-registry.ts'

/** What the contract needs to know of a kind. */
export interface KindUnderTest {
  readonly kind: Kind
  /** A definition that works, its `implementation.type` included. */
  readonly tool: ToolDefinition
  readonly params: Params
  readonly result: unknown
  /** A definition whose implementation lacks what it needs, and the sentence a call of it must give. */
  readonly lacking?: { readonly tool: ToolDefinition; readonly error: string }
}

/** One clause of a contract: `run` throws where it does not hold. Feed them to whatever test runner there is. */
export interface ContractCase {
  readonly name: string
  run(): Promise<void>
}

/** What every kind of tool must keep to, so that the executor can rely on it. */
export function kindContract({ kind, tool, params, result, lacking }: KindUnderTest): ContractCase[] {
  const executorWith = (definition: ToolDefinition) => {
    const registry = new ToolRegistry()
    registry.register(definition)
    return new ToolExecutor(registry, { kinds: { [definition.implementation.type]: kind } })
  }
  const cases: ContractCase[] = [
    {
      name: 'names an effect for a tool that names none',
      async run() {
        const { effect: _, ...without } = tool
        assert.ok(['read', 'idempotent', 'write'].includes(kind.effect(without as ToolDefinition)))
      },
    },
    {
      name: 'finds nothing to warn of in a definition that works',
      async run() {
        assert.equal(kind.warning?.(tool), undefined)
      },
    },
    {
      name: 'gives the result in an envelope',
      async run() {
        const { execution_time_ms, ...envelope } = await executorWith(tool).execute(tool.name, params)
        assert.deepEqual(envelope, { success: true, result, tool_name: tool.name })
        assert.ok(execution_time_ms >= 0)
      },
    },
    {
      name: 'leaves definition and parameters as they were',
      async run() {
        const before = JSON.stringify([tool, params])
        await executorWith(tool).execute(tool.name, params)
        assert.equal(JSON.stringify([tool, params]), before)
      },
    },
    {
      name: 'gives the same again after the caller has changed what it got',
      async run() {
        const executor = executorWith(tool)
        const first = await executor.execute(tool.name, params)
        if (first.success && typeof first.result === 'object' && first.result !== null) {
          for (const key of Object.keys(first.result)) Reflect.deleteProperty(first.result, key)
        }
        const second = await executor.execute(tool.name, params)
        assert.deepEqual(second.success && second.result, result)
      },
    },
    {
      name: 'does not run for a caller that has gone away',
      async run() {
        const envelope = await executorWith(tool).execute(tool.name, params, { signal: AbortSignal.abort() })
        assert.equal(!envelope.success && envelope.error_code, 'CANCELLED')
      },
    },
  ]
  if (lacking !== undefined) {
    cases.push({
      name: 'warns of a definition that lacks something, and fails with that sentence when called',
      async run() {
        assert.equal(kind.warning?.(lacking.tool), lacking.error)
        const envelope = await executorWith(lacking.tool).execute(lacking.tool.name, params)
        assert.equal(!envelope.success && envelope.error, lacking.error)
        assert.equal(!envelope.success && envelope.error_code, 'EXECUTION_ERROR')
      },
    })
  }
  return cases
}
