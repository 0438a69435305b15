import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StructuredTool } from '@langchain/core/tools'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Installation } from '../app/installation.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { toLangChain } from './to-langchain.ts'
import { tool } from './tool.ts'

describe('callers that can not name an approval', () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object' },
    approval: true,
    execute: () => 'paid',
  })
  const clerk = tool({
    name: 'clerk',
    description: 'Pays.',
    input: { type: 'object' },
    execute: (_, { call }) => call('pay', {}),
  })

  async function open() {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-approvals-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const env = { TOOLYARD_DATA: folder }
    const installation = await Installation.open({ config: {}, tools: [pay, clerk], log: captureLog(), env })
    onTestFinished(() => installation.close())
    const { manager, approvals } = installation
    const approve = async () => {
      const {
        approvals: [pending],
      } = await approvals.list({ tenant: 'local', status: 'pending', limit: 10 })
      await approvals.decide(
        'local',
        String(pending?.id),
        { decision: 'approve' },
        { id: 'ann', name: 'ann', source: 'cli' },
      )
    }
    return { manager, approve }
  }

  test('a framework repeats the call', async () => {
    const { manager, approve } = await open()
    const [given] = await toLangChain<StructuredTool>(manager, ['pay'], { caller: 'ann' })
    const invoke = (id: string) => given?.invoke({ type: 'tool_call', id, name: 'pay', args: {} })
    expect(await invoke('call_1')).toMatchObject({
      status: 'error',
      content: expect.stringMatching(
        /^Tool 'pay' runs only with approval. Repeat the call \(approval '.+'\) when it is/,
      ),
    })
    await approve()
    expect(await invoke('call_2')).toMatchObject({ status: 'success', content: 'paid' })
    expect(await invoke('call_3')).toMatchObject({ status: 'error' })
  })

  test('a tool that calls others is called again', async () => {
    const { manager, approve } = await open()
    const execute = () => manager.getExecutor().execute('clerk', {}, { caller: 'ann' })
    expect(await execute()).toMatchObject({ result: { error_code: 'APPROVAL_REQUIRED' } })
    await approve()
    expect(await execute()).toMatchObject({ result: { success: true, result: 'paid' } })
    expect(await execute()).toMatchObject({ result: { error_code: 'APPROVAL_REQUIRED' } })
  })
})
