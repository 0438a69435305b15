import { expect, test } from 'vitest'
import { openTestServer } from '../fixtures/open-server.ts'

test('GET /api/operations lists what the caller may do, with the schema of the input', async () => {
  const server = await openTestServer({ tools: { enabled: true } })
  try {
    const listed = async (role: string) => {
      const headers = { 'x-api-key': await server.key('acme', role) }
      const response = await fetch(`${server.url}/api/operations`, { headers })
      return ((await response.json()) as { operations: { id: string; input: object }[] }).operations
    }
    expect((await listed('user')).map(({ id }) => id)).not.toContain('approvals.decide')
    const decide = (await listed('operator')).find(({ id }) => id === 'approvals.decide')
    expect(decide).toMatchObject({
      ...{ method: 'POST', path: '/api/approvals/:id', scope: 'approve' },
      input: { required: ['id', 'decision'], properties: { decision: { enum: ['approve', 'reject'] } } },
    })
  } finally {
    await server.close()
  }
})

test('the query of a request does not replace fields of its body', async () => {
  const server = await openTestServer({ tools: { enabled: true } })
  try {
    const headers = { 'x-api-key': await server.key('acme', 'admin'), 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'mine', address: '/activity', shared: false, pinned: false })
    const response = await fetch(`${server.url}/api/views/v1?address=javascript:alert(1)&name=other&shared=true`, {
      ...{ method: 'PUT', headers, body },
    })
    expect(await response.json()).toMatchObject({ name: 'mine', address: '/activity', shared: false })
  } finally {
    await server.close()
  }
})
