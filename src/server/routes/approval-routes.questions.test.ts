import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ApprovalView } from '../../app/durable/approvals.ts'
import { serveAsking } from '../../mcp/fixtures/asking-server.ts'
import { COMPILE_CACHE } from '../../mcp/fixtures/compile-cache.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const ASKING = fileURLToPath(new URL('../../mcp/fixtures/asking-server.ts', import.meta.url))
const FORWARD = { elicitation: 'ask', sampling: 'ask' } as const

/** An MCP server whose questions people answer: a program of the older protocol, or the newer one over HTTP. */
async function openYard(protocol: 'older' | 'newer') {
  let reach: object = { command: process.execPath, args: [ASKING], env: COMPILE_CACHE }
  if (protocol === 'newer') {
    const asking = await serveAsking()
    onTestFinished(() => asking.close())
    reach = { url: asking.url }
  }
  const config = { mcpServers: { asking: { ...reach, forward: FORWARD } } }
  const server = await openToolServer({ local_tool: async () => 1 }, config as never, { local: false })
  await server.installation.manager.getMcpServers().start()
  const headers = async (role: 'user' | 'operator', tenant = 'acme') => ({
    'x-api-key': await server.key(tenant, role),
  })
  const [user, operator] = [await headers('user'), await headers('operator')]
  const call = async (tool_name: string, signal?: AbortSignal) =>
    (
      await fetch(`${server.url}/tools/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...user },
        body: JSON.stringify({ tool_name, params: {} }),
        ...(signal && { signal }),
      })
    ).json()
  const list = async (status = 'pending') =>
    ((await (await server.get(`/api/approvals?status=${status}`, operator)).json()) as { approvals: ApprovalView[] })
      .approvals
  const pending = () =>
    vi.waitFor(async () => {
      const [one] = await list()
      expect(one).toBeDefined()
      return one as ApprovalView
    })
  const decide = async (id: string, body: object, by = operator) => {
    const answer = await server.post(`/api/approvals/${id}`, body, by)
    return { status: answer.status, body: (await answer.json()) as ApprovalView & { error?: string } }
  }
  return { ...server, call, list, pending, decide, headers, user, operator }
}

for (const protocol of ['older', 'newer'] as const) {
  test(`a person answers and declines the questions of a server of the ${protocol} protocol`, async () => {
    const { call, pending, decide, get, operator } = await openYard(protocol)
    const asked = call('ask')
    const question = await pending()
    expect(question).toMatchObject({
      status: 'pending',
      tool: 'ask',
      question: { kind: 'elicitation', server: 'asking' },
      params: { message: "MCP server 'asking' asks: Your name?", requestedSchema: { type: 'object' } },
      refused: null,
    })
    expect(await decide(question.id, { decision: 'approve', params: { name: 7 } })).toMatchObject({ status: 400 })
    expect(await decide(question.id, { decision: 'approve' })).toMatchObject({
      status: 400,
      body: { error: 'params must be a JSON object' },
    })
    expect(await decide(question.id, { decision: 'approve', params: { name: 'Ada' } })).toMatchObject({
      status: 200,
      body: { status: 'approved', approved_params: { name: 'Ada' } },
    })
    expect(await asked).toMatchObject({ success: true, result: 'accept Ada' })
    expect(await decide(question.id, { decision: 'reject' })).toMatchObject({ status: 409 })

    const declined = call('ask')
    await decide((await pending()).id, { decision: 'reject' })
    expect(await declined).toMatchObject({ success: true, result: 'decline' })

    const sampled = call('sample')
    const { id, params } = await pending()
    expect(params).toMatchObject({ messages: [{ content: { text: 'Say ok' } }], maxTokens: 5 })
    expect(params).not.toHaveProperty('includeContext')
    expect(await decide(id, { decision: 'approve', params: { text: '' } })).toMatchObject({ status: 400 })
    await decide(id, { decision: 'approve', params: { text: 'ok, by hand' } })
    expect(await sampled).toMatchObject({ success: true, result: 'ok, by hand' })

    const rows = (await (await get('/audit?type=event', operator)).json()) as {
      rows: { event: string; detail: string }[]
    }
    const details = rows.rows.filter(({ event }) => event.startsWith('approval.')).map(({ detail }) => detail)
    expect(details).toHaveLength(6)
    expect(details[0]).toMatch(/"server":"asking","question":"sampling","decision":"approve"/)
    expect(details.join()).not.toMatch(/by hand|Ada/)
  })
}

test('a question is withdrawn with its call, and only approvers of the tenant see it', async () => {
  const { call, pending, list, decide, headers, user, installation } = await openYard('older')
  const gone = new AbortController()
  const asked = call('ask', gone.signal).catch(() => 'gone')
  const { id } = await pending()
  expect((await decide(id, { decision: 'reject' }, user)).status).toBe(403)
  expect((await decide(id, { decision: 'reject' }, await headers('operator', 'globex'))).status).toBe(404)
  gone.abort()
  expect(await asked).toBe('gone')
  await vi.waitFor(async () => expect(await list()).toEqual([]))
  expect(await list('rejected')).toMatchObject([{ id, reason: 'The call has ended' }])
  expect(installation.manager.getMcpServers().asksPeople('asking')).toBe(true)
})
