import type { ModelCall, Progress, ScriptedModel, Tool } from '../adapter.ts'
import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { FAR_MS, tool } from '../probe.ts'
import { settle } from '../settle.ts'

const AMOUNT = { properties: { amount: { type: 'number' } }, required: ['amount'] }

/** A tool that notes the amounts that it was run with. */
function recorded(name: string): Tool & { readonly amounts: unknown[] } {
  const amounts: unknown[] = []
  return { ...tool(name, ({ amount }) => amounts.push(amount) && `${name}: ${amount}`, AMOUNT), amounts }
}

const guarded = (name: string) => ({ ...recorded(name), needsApproval: true as const })

const call = (id: string, name: string, amount: number): ModelCall => ({
  id,
  name,
  arguments: JSON.stringify({ amount }),
})

/** What the application stores of a run that waits. */
async function stateOf(progress: Promise<Progress>, what: string): Promise<string> {
  const { value, error } = await settle(
    progress.then((each) => JSON.stringify(each)),
    FAR_MS,
    what,
  )
  expect(value !== undefined, `${what} failed: ${error}`)
  const reached = JSON.parse(value) as Progress
  expect('state' in reached, `${what} did not wait for approval`)
  return reached.state
}

async function textOf(progress: Promise<Progress>, what: string): Promise<void> {
  const { value, error } = await settle(
    progress.then((each) => ('text' in each ? each.text : 'It waits for approval')),
    FAR_MS,
    what,
  )
  expect(error === undefined, `${what} failed: ${error}`)
  expect(value?.includes('the last word') === true, `${what} ended without the last word of the model: ${value}`)
}

export const approvalRespected: Case = {
  id: 'approval-respected',
  title: 'A call that needs approval runs only after a person has approved it',
  why: 'The refund is paid while the approver still reads the request, or although it was rejected.',
  thread: 'crewAIInc/crewAI#6859',
  needs: ['approval'],
  async run(probe) {
    const pay = guarded('pay')
    const runtime = await probe.start({ tools: [pay] })
    const { begin, decide } = probe.approvalsOf(runtime)
    // It may fail or say that it waits.
    await settle(runtime.call('pay', '{"amount":1}'), FAR_MS, 'A call that needs approval')
    expect(pay.amounts.length === 0, 'A call was run before anybody approved it')
    // It has the last word only if it is told of its call.
    const model: ScriptedModel = (replies) =>
      replies.length === 0 ? { calls: [call('call_1', 'pay', 5)] } : { text: 'the last word' }
    const first = await stateOf(begin(model), 'A run whose call needs approval')
    expect(pay.amounts.length === 0, 'A call of a run was run before anybody approved it')
    await textOf(decide(first, false, model), 'A run whose call was rejected')
    expect(pay.amounts.length === 0, 'A rejected call was run')
    const second = await stateOf(begin(model), 'A second run')
    await textOf(decide(second, true, model), 'A run whose call was approved')
    expect(pay.amounts.join() === '5', `An approved call with amount 5 was run with: ${pay.amounts.join(', ')}`)
  },
}

export const approvalBindsParameters: Case = {
  id: 'approval-binds-parameters',
  title: 'An approval is valid only for the parameters that the person has seen',
  why: 'A person approves 5, and 5000 is paid.',
  thread: 'nicobailon/pi-mcp-adapter#372',
  needs: ['approval'],
  async run(probe) {
    const pay = guarded('pay')
    const runtime = await probe.start({ tools: [pay] })
    const { begin, decide } = probe.approvalsOf(runtime)
    // Some providers number the calls of each turn from zero.
    const model: ScriptedModel = (replies) => {
      if (replies.length === 0) return { calls: [call('call_0', 'pay', 5)] }
      const isFirst = pay.amounts.at(-1) === 5
      return isFirst ? { calls: [call('call_0', 'pay', 5000)] } : { text: 'the last word' }
    }
    const state = await stateOf(begin(model), 'A run whose call needs approval')
    await settle(
      decide(state, true, model).then(() => ''),
      FAR_MS,
      'A run whose call was approved',
    )
    expect(pay.amounts[0] === 5, 'The approved call was not run')
    expect(pay.amounts.length === 1, 'A later call with the same id and other parameters was run without approval')
    if (runtime.tamper === undefined) return
    const changed = runtime.tamper(await stateOf(begin(model), 'A second run'), { amount: 5000 })
    await settle(
      decide(changed, true, model).then(() => ''),
      FAR_MS,
      'A run whose client has changed the parameters',
    )
    expect(!pay.amounts.includes(5000), 'The client changed the parameters of a call after approval, and it was run')
  },
}

export const resumeWritesOnce: Case = {
  id: 'resume-writes-once',
  title: 'A run that continues after an approval in a restarted runtime repeats no write',
  why: 'The approval arrives twice, or after a restart, and the order is placed again.',
  thread: 'LibreChat-AI/agents#294',
  needs: ['approval'],
  async run(probe) {
    const order = recorded('order')
    const pay = guarded('pay')
    const model: ScriptedModel = (replies) =>
      replies.length === 0
        ? { calls: [call('call_1', 'order', 7), call('call_2', 'pay', 5)] }
        : { text: 'the last word' }
    const before = await probe.start({ tools: [order, pay] })
    const state = await stateOf(probe.approvalsOf(before).begin(model), 'A run whose call needs approval')
    await before.close()
    const after = await probe.start({ tools: [order, pay] })
    const { decide } = probe.approvalsOf(after)
    await textOf(decide(state, true, model), 'A run that was continued after a restart')
    const counts = () => `${order.amounts.length} and ${pay.amounts.length} times`
    expect(order.amounts.length === 1, `The run repeated a write when it was continued: ${counts()}`)
    expect(pay.amounts.length === 1, `The approved call was run ${pay.amounts.length} times`)
    // The same message again, as queues and impatient users send it. It may be refused.
    await settle(
      decide(state, true, model).then(() => ''),
      FAR_MS,
      'A run that was continued twice',
    )
    const once = order.amounts.length === 1 && pay.amounts.length === 1
    expect(once, `After the same approval arrived twice, the writes were run ${counts()}`)
  },
}
