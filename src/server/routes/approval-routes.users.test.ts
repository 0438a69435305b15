import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openIssuer } from '../fixtures/open-issuer.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'

type Issuer = Awaited<ReturnType<typeof openIssuer>>
let issuer: Issuer
beforeAll(async () => {
  issuer = await openIssuer()
})
afterAll(() => issuer.close())

const tool = (name: string, implementation: object, more: object = {}) => ({
  ...{ name, description: name, parameters: { type: 'object' }, implementation },
  ...more,
})
const pay = { type: 'internal', handler: 'pay' }

/** A server whose users are administrators, with a service key that acts for them. */
async function open() {
  const server = await openScriptedServer([{ calls: [{ name: 'pay', arguments: {} }] }], {
    local: false,
    tools: { pay: () => 'paid' },
    config: {
      roles: { backend: { scopes: ['read', 'call', 'act_as'] } },
      auth: { oidc: { ...issuer.settings, roles: { 'tool-admins': 'admin' } } },
      tools: {
        enabled: true,
        registry: [
          tool('pay', pay, { approval: true }),
          tool('pay_self', pay, { approval: { self: true } }),
          tool('order', { type: 'pipeline', steps: [{ id: 'paid', tool: 'pay', params: {} }] }),
          tool('clerk', { type: 'agent', model: 'scripted:turns', tools: ['pay'] }),
        ],
      },
    } as never,
  })
  const post = async (path: string, token: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const service = await server.key('acme', 'backend')
  return {
    ...server,
    post,
    service,
    /** The approval that a call asks for. */
    async ask(tool_name: string, token: string, user?: string): Promise<string> {
      const headers = user === undefined ? {} : { 'toolyard-user': user }
      const { body } = await post('/tools/execute', token, { tool_name, params: {} }, headers)
      expect(body).toMatchObject({ error_code: 'APPROVAL_REQUIRED' })
      return body.details.approval.id
    },
    async decide(id: string, token: string) {
      const { status, body } = await post(`/api/approvals/${id}`, token, { decision: 'approve' })
      return { status, detail: status === 200 ? body.status : JSON.stringify(body) }
    },
  }
}

const refused = { status: 403, detail: expect.stringContaining('The caller that asked may not decide') }
const user = (sub: string) => issuer.token({ sub })

describe('a call that a service key makes for a user', () => {
  test.each(['pay', 'order', 'clerk'])('can not be approved by that user: %s', async (name) => {
    const { ask, decide, service, url } = await open()
    const id = await ask(name, service, 'ada')
    // Another token of the same user is the same user.
    expect(await decide(id, user('ada'))).toMatchObject(refused)
    expect(await decide(id, user('ada'))).toMatchObject(refused)
    const headers = { authorization: `Bearer ${user('ada')}` }
    const shown = JSON.parse(await (await fetch(`${url}/api/approvals/${id}`, { headers })).text())
    expect(shown).toMatchObject({ status: 'pending', refused: refused.detail })
    // The key that asked, not its user.
    expect(shown.caller).toMatch(/^[\da-f-]{36}$/)
    expect(await decide(id, user('bob'))).toEqual({ status: 200, detail: 'approved' })
  })

  test('can not be approved by a key that the user has created, nor by its next secret', async () => {
    const { ask, decide, post, service } = await open()
    const created = await post('/api/keys', user('ada'), { name: 'later', role: 'operator' })
    expect(created.status).toBe(201)
    const id = await ask('pay', service, 'ada')
    expect(await decide(id, created.body.key)).toMatchObject(refused)
    const rotated = await post(`/api/keys/${created.body.id}/rotate`, user('ada'), {})
    expect(await decide(id, rotated.body.key)).toMatchObject(refused)
    expect(await decide(id, user('bob'))).toEqual({ status: 200, detail: 'approved' })
  })

  test('can be approved by that user if the rule says self', async () => {
    const { ask, decide, service } = await open()
    expect(await decide(await ask('pay_self', service, 'ada'), user('ada'))).toEqual({
      status: 200,
      detail: 'approved',
    })
  })

  test('is not of a user of the same name in another tenant', async () => {
    const { ask, decide, service, installation } = await open()
    const { text, stored } = newStoredKey('acme', 'operator', { created_by: 'user:globex/ada' })
    await installation.storage.keys.create(stored)
    await installation.callers.load(installation.storage.keys)
    expect(await decide(await ask('pay', service, 'ada'), text)).toEqual({ status: 200, detail: 'approved' })
  })
})

test('a call of a signed-in user can not be approved by a service key for that user', async () => {
  const { ask, installation } = await open()
  const id = await ask('pay', user('ada'))
  const { text, stored } = newStoredKey('acme', 'admin')
  await installation.storage.keys.create(stored)
  await installation.callers.load(installation.storage.keys)
  const key = installation.callers.find(text)
  const acting = { ...(key as NonNullable<typeof key>), user: 'ada' }
  const decide = () => installation.approvals.decide('acme', id, { decision: 'approve' }, acting, acting)
  await expect(decide()).rejects.toThrow('The caller that asked may not decide')
})

test('a program can not approve a call in the name of the user who asked', async () => {
  const { ask, installation, service } = await open()
  const by = (id: string) => ({ id, name: id, source: 'code' }) as const
  const decide = (id: string, who: string) =>
    installation.approvals.decide('acme', id, { decision: 'approve' }, by(who))
  for (const id of [await ask('pay', service, 'ada'), await ask('pay', user('ada'))]) {
    await expect(decide(id, 'ada')).rejects.toThrow('The caller that asked may not decide')
    expect(await decide(id, 'olga')).toMatchObject({ status: 'approved', decided_by: 'olga' })
  }
})

test('a call that a program makes for a user can not be approved by that user when they sign in', async () => {
  const { decide, installation } = await open()
  const context = { tenant: 'acme', caller: 'ada', source: 'code' } as const
  const asked = await installation.manager.getExecutor().execute('pay', {}, context)
  const id = String(asked.success || asked.details?.approval?.id)
  expect(await decide(id, user('ada'))).toMatchObject(refused)
})
