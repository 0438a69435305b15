import { describe, expect, test, vi } from 'vitest'
import type { ToolDefinition } from '../core/tool.ts'
import { CHANGED, here, listen, mock, newFolder, notify, open, type Setting } from './fixtures/approving-yard.ts'
import { tool } from './tool.ts'

test.each([true, false])(
  'an approved call makes no further calls once a tool that it may call has changed: %j',
  async (changes) => {
    const done = vi.fn(() => 'done')
    const later = (execute: () => string) =>
      tool({ name: 'later', description: 'Comes later.', input: { type: 'object' }, execute })
    const early = tool({
      ...{ name: 'early', description: 'Comes first.', input: { type: 'object' } },
      execute: () => {
        const registry = yard.installation.manager.getRegistry()
        registry.unregister('later')
        registry.register(changes ? later(() => `${done()} otherwise`) : later(done))
        return 'early'
      },
    })
    const steps = [
      { id: 'a', tool: 'early' },
      { id: 'b', tool: 'later', params: { after: { $: '$.steps.a' } } },
    ]
    const registry = [{ name: 'pay', approval: true, implementation: { type: 'pipeline', steps } }]
    const yard = await open(await newFolder(), { registry, tools: [early, later(done)] })
    const id = await yard.ask('pay')
    await yard.approve(id)
    const result = await yard.call('pay', id)
    if (!changes) return expect(result).toMatchObject({ success: true, result: 'done' })
    expect(result).toMatchObject({ success: false, error: expect.stringContaining(CHANGED) })
    expect(done).not.toHaveBeenCalled()
  },
)

describe('a call inside of another', () => {
  const pay = (mock_response: unknown) => ({ ...mock(mock_response).registry?.[0] })
  const outer = (steps: readonly string[]): Partial<ToolDefinition> => ({
    name: 'pay_all',
    // One after the other.
    implementation: {
      type: 'pipeline',
      steps: steps.map((name, at) => ({
        ...{ id: `s${at}`, tool: name },
        ...(at > 0 && { when: { properties: { steps: { required: [`s${at - 1}`] } } } }),
      })),
    },
  })
  const setting = (url: string, steps: readonly string[], answer: unknown = 'paid'): Setting => ({
    registry: [notify(url), pay(answer), outer(steps)],
  })

  test.each<[what: string, after: (url: string) => Setting, named: string]>([
    ['its own definition', (url) => setting(url, ['notify', 'pay'], 'paid twice'), "Tool 'pay'"],
    ['a step of the outermost tool', (url) => setting(url, ['notify', 'notify', 'pay']), "Tool 'pay_all'"],
    ['a tool of such a step', (url) => setting(`${url}/other`, ['notify', 'pay']), "Tool 'pay_all'"],
  ])('is not approved and does not run if %s has changed', async (_what, after, named) => {
    const folder = await newFolder()
    const { url, requests } = await listen()
    const first = await open(folder, setting(url, ['notify', 'pay']))
    const [pending, approved] = [await first.ask('pay_all', { n: 1 }), await first.ask('pay_all', { n: 2 })]
    await first.approve(approved)
    await first.installation.close()
    const asked = [...requests]
    const second = await open(folder, after(url))
    expect(await second.shown(pending)).toContain(named)
    await expect(second.approve(pending)).rejects.toThrow(CHANGED)
    for (const [id, n] of [[pending, 1] as const, [approved, 2] as const]) {
      const refused = await second.call('pay_all', id, { n })
      expect(refused).toMatchObject({ error_code: 'PERMISSION_DENIED', error: expect.stringContaining(named) })
    }
    // Nothing of the call ran before it was refused.
    expect(requests).toEqual(asked)
    const again = await second.ask('pay_all', { n: 2 })
    await second.approve(again)
    expect(await second.call('pay_all', again, { n: 2 })).toMatchObject({ success: true })
  })

  test('is another call than the same one made directly', async () => {
    const { call, ask, approve } = await open(await newFolder(), setting(here, ['pay']))
    const id = await ask('pay_all')
    await approve(id)
    const refused = { error_code: 'INVALID_PARAMETERS', error: expect.stringContaining('is for another call') }
    expect(await call('pay', id)).toMatchObject(refused)
    expect(await call('pay_all', id)).toMatchObject({ success: true })
  })

  test.each(['\0', 'é', 'x'.repeat(256)])('can not name its approval as %j', async (id) => {
    const { call } = await open(await newFolder(), setting(here, ['pay']))
    const refused = { error_code: 'INVALID_PARAMETERS', error: expect.stringContaining('approval_id must be') }
    expect([await call('pay', id), await call('pay_all', id)]).toMatchObject([refused, refused])
  })

  test('continues after a restart if nothing has changed, and repeats none of its calls', async () => {
    const folder = await newFolder()
    const { url, requests } = await listen()
    const first = await open(folder, setting(url, ['notify', 'pay']))
    const id = await first.ask('pay_all')
    await first.approve(id)
    await first.installation.close()
    const second = await open(folder, setting(url, ['notify', 'pay']))
    expect(await second.call('pay_all', id)).toMatchObject({ success: true, result: 'paid' })
    expect(requests).toHaveLength(1)
  })
})
