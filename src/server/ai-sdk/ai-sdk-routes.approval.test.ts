import { expect, test, vi } from 'vitest'
import type { GivenTurn } from '../../testing/stand-ins.ts'
import { asked, openChat, partsOf, post, told } from '../fixtures/ui-chat.ts'

const pay = (amount: number) => ({ name: 'pay', arguments: { amount } })
const parameters = { type: 'object', properties: { amount: { type: 'number' } } }
const approval = { self: true, when: { properties: { amount: { minimum: 2 } } } }

async function openPaying(turns: readonly GivenTurn[], definition = {}) {
  const paid = vi.fn(({ amount }: Record<string, unknown>) => ({ amount }))
  const server = await openChat(turns, { tools: { pay: paid }, definition: { parameters, approval, ...definition } })
  const headers = { 'x-api-key': await server.key('acme', 'operator') }
  return { ...server, chat: server.open('chat', headers), headers, paid }
}

/** The tool parts of the last message, and its text. */
const shown = (chat: Parameters<typeof partsOf>[0]) =>
  partsOf(chat)?.flatMap((part): unknown[] =>
    part.type === 'dynamic-tool' ? [[part.state, part.input]] : part.type === 'text' ? [part.text] : [],
  )

type Chat = Awaited<ReturnType<typeof openPaying>>['chat']

/** The approvals that the client is asked for. */
const requested = (chat: Chat) =>
  partsOf(chat)?.flatMap((part) => (Object(part).state === 'approval-requested' ? [Object(part).approval.id] : [])) ??
  []

test('a client decides about its own calls if the rule has self, and gets the rest of the message', async () => {
  const { chat, paid, model } = await openPaying([
    { calls: [pay(1), pay(2), pay(3)] },
    { calls: [pay(4)] },
    'Paid.',
    'Yes.',
  ])
  await chat.sendMessage({ text: 'Pay' })
  expect(shown(chat)).toEqual([
    ['output-available', { amount: 1 }],
    ['approval-requested', { amount: 2 }],
    ['approval-requested', { amount: 3 }],
  ])
  const [second, third] = requested(chat)
  await chat.addToolApprovalResponse({ id: second, approved: true })
  await chat.addToolApprovalResponse({ id: third, approved: false, reason: 'Too much' })
  await vi.waitFor(() => expect(requested(chat)).toHaveLength(1), { timeout: 30_000 })
  expect(shown(chat)).toEqual([
    ['output-available', { amount: 1 }],
    ['output-available', { amount: 2 }],
    ['output-denied', { amount: 3 }],
    ['approval-requested', { amount: 4 }],
  ])
  await chat.addToolApprovalResponse({ id: requested(chat)[0], approved: true })
  await vi.waitFor(() => expect(shown(chat)?.at(-1)).toBe('Paid.'), { timeout: 30_000 })
  expect(shown(chat)?.slice(-2)).toEqual([['output-available', { amount: 4 }], 'Paid.'])
  expect([chat.messages.length, chat.error]).toEqual([2, undefined])
  expect(paid.mock.calls.map(([{ amount }]) => amount)).toEqual([1, 2, 4])
  await chat.sendMessage({ text: 'Is it paid?' })
  expect(told(model.requests.at(-1)).map(([role, content]) => [role, String(content).slice(0, 40)])).toEqual([
    ['user', 'Pay'],
    ['assistant', 'null'],
    ['tool', expect.stringContaining('"success":true')],
    ['tool', expect.stringContaining('"success":true')],
    ['tool', expect.stringContaining('"success":false')],
    ['assistant', 'null'],
    ['tool', expect.stringContaining('"success":true')],
    ['assistant', 'Paid.'],
    ['user', 'Is it paid?'],
  ])
})

test('the chat has the answer of a run that went on after a decision in the inbox, and later questions', async () => {
  const { chat, installation, headers, url, key, model } = await openPaying(
    [{ calls: [pay(2)] }, 'Not yet.', 'Paid.', 'Yes.'],
    { approval: true },
  )
  await chat.sendMessage({ text: 'Pay' })
  await chat.sendMessage({ text: 'Is it paid?' })
  const listed = (await (await fetch(`${url}/api/approvals`, { headers })).json()) as { approvals: object[] }
  const { id, run_id } = Object(listed.approvals[0])
  const decided = await fetch(`${url}/api/approvals/${id}`, {
    method: 'POST',
    headers: { 'x-api-key': await key('acme'), 'content-type': 'application/json' },
    body: '{"decision":"approve"}',
  })
  expect(decided.status).toBe(200)
  const { durableRuns } = installation
  await vi.waitFor(async () => expect(await durableRuns.get('acme', run_id)).toMatchObject({ status: 'finished' }), {
    timeout: 30_000,
  })
  await chat.sendMessage({ text: 'And now?' })
  expect(told(model.requests.at(-1))).toMatchObject([
    ['user', 'Pay'],
    ['assistant', null],
    ['tool', expect.stringContaining('"result":{"amount":2}')],
    ['assistant', 'Paid.'],
    ['user', 'Is it paid?'],
    ['assistant', 'Not yet.'],
    ['user', 'And now?'],
  ])
})

test('a decision of a client that may not decide is refused, and the call does not run', async () => {
  const { chat, headers, url, key, paid, installation } = await openPaying([{ calls: [pay(2)] }])
  await chat.sendMessage({ text: 'Pay' })
  const last = chat.messages.at(-1)
  const part = Object(partsOf(chat)?.find((each) => each.type === 'dynamic-tool'))
  const answered = (id: string) => ({ ...part, state: 'approval-responded', approval: { id, approved: true } })
  const { id } = part.approval
  const send = async (message: object, as: Record<string, string>) => (await post(url, asked(message), as)).status
  const decision = { ...last, parts: [answered(id)] }
  expect(await send(decision, { 'x-api-key': await key('other', 'operator') })).toBe(404)
  expect(await send(decision, { 'x-api-key': await key('acme', 'operator') })).toBe(404)
  expect(await send({ ...last, parts: [answered('0')] }, headers)).toBe(404)
  const registry = installation.manager.getRegistry()
  const tool = registry.find('pay')
  registry.register({ ...(tool && registry.definitionOf(tool)), name: 'pay', approval: true } as never)
  expect(await send(decision, headers)).toBe(403)
  expect(paid).not.toHaveBeenCalled()
  expect(await installation.durableRuns.get('acme', last?.id ?? '')).toMatchObject({ status: 'waiting' })
})
