import { describe, expect, test, vi } from 'vitest'
import { toolyard } from '../fixtures/code-yard.ts'
import type { ApprovalRule, ToolDefinition } from '../tool.ts'
import { bindApproval } from './approvals.ts'

const definition = (approval: unknown): ToolDefinition =>
  ({ name: 'pay', description: 'Pays', parameters: {}, implementation: { type: 'mock' }, approval }) as ToolDefinition

describe('the rule of a definition', () => {
  test.each<[approval: unknown, problem: string]>([
    ['yes', 'it must be true or an object'],
    [null, 'it must be true or an object'],
    [[], 'it must be true or an object'],
    [{ wen: {} }, "unknown key 'wen'"],
    [{ by: [] }, 'by must be a list of roles'],
    [{ by: [1] }, 'by must be a list of roles'],
    [{ by: 'admin' }, 'by must be a list of roles'],
    [{ self: 'yes' }, 'self must be true or false'],
    [{ expires_ms: 10 }, 'expires_ms must be an integer from 1000 to 31536000000, not 10'],
    [{ expires_ms: Number.POSITIVE_INFINITY }, 'expires_ms must be an integer'],
    [{ when: true }, 'when must be a JSON Schema object'],
    [{ when: { type: 'nothing' } }, 'when is not a valid schema'],
    [{ when: { $ref: 'https://example.com/schema' } }, 'when is not a valid schema'],
  ])('%j is refused', (approval, problem) => {
    expect(() => bindApproval(definition(approval))).toThrow(`Tool 'pay' has an invalid approval: ${problem}`)
  })

  test.each<[approval: boolean | ApprovalRule | undefined, needs: boolean | undefined]>([
    [undefined, undefined],
    [false, undefined],
    [true, true],
    [{}, true],
    [{ when: { required: ['amount'] } }, true],
    [{ when: { required: ['other'] } }, false],
  ])('%j decides which calls need approval', (approval, needs) => {
    const snapshot = { params: { amount: 1 }, nodes: 2, characters: 10, flat: true }
    expect(bindApproval(definition(approval))?.needs(snapshot)).toBe(needs)
  })

  test('parameters that are too large to compare need approval', () => {
    const bound = bindApproval(definition({ when: { required: ['other'] } }))
    expect(bound?.needs({ params: {}, nodes: 1e9, characters: 1, flat: true })).toBe(true)
  })

  test('a tool with an invalid rule never runs', async () => {
    const run = vi.fn()
    const { add, executor } = toolyard()
    add('pay', run, { approval: { by: [] } as never })
    expect(await executor.execute('pay', {})).toMatchObject({ error_code: 'EXECUTION_ERROR' })
    expect(run).not.toHaveBeenCalled()
  })
})
