import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openToolServer, type TestTool } from './fixtures/open-tool-server.ts'

const [GIVEN, CAME, FAILED] = ['given-4711', 'came-4712', 'failed-4713']
const input = { type: 'object', properties: { text: { type: 'string', enum: [GIVEN] } } } as const

const TOOLS: Readonly<Record<string, TestTool>> = {
  echo: { parameters: input, run: async () => CAME },
  fails: {
    parameters: input,
    run: async ({ text }) => {
      throw new Error(`cannot use ${text}: ${FAILED}`, { cause: new TypeError(`no ${text}`) })
    },
  },
}

/** What a server logs of calls that succeed and fail in several ways. */
async function loggedWith(payloads: 'off' | 'errors' | 'all' | undefined) {
  const service = createServer((_request, response) => response.end(JSON.stringify({ value: CAME })))
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void service.close())
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/{text}`
  const server = await openToolServer(
    {
      ...TOOLS,
      fetched: { ...{ parameters: input, run: async () => 0 }, implementation: { type: 'http', url } },
      piped: {
        ...{ parameters: input, run: async () => 0 },
        implementation: {
          type: 'pipeline',
          steps: [{ id: 'one', tool: 'fails', params: { text: { $: '$.params.text' } } }],
        },
      },
    },
    { ...(payloads && { storage: { payloads } }), http: { allow_private: ['127.0.0.1'] } },
  )
  const headers = { 'x-api-key': await server.key('acme') }
  for (const tool of ['echo', 'fetched']) expect((await server.call(tool, { text: GIVEN }, headers)).status).toBe(200)
  for (const tool of ['fails', 'piped', `no_${GIVEN}`]) {
    expect((await server.call(tool, { text: GIVEN }, headers)).status).toBeGreaterThan(299)
  }
  expect((await server.call('echo', { text: FAILED, [FAILED]: 1 }, headers)).status).toBe(400)
  const job = await server.call('fails', { text: GIVEN }, { ...headers, prefer: 'respond-async' })
  expect(job.status).toBe(202)
  await expect
    .poll(async () => (await (await server.get(job.headers.get('location') ?? '', headers)).json()) as object)
    .toMatchObject({ state: 'done' })
  const lines = server.log.lines.map(({ level, message, fields }) => ({
    level,
    message,
    fields,
    text: JSON.stringify([message, fields]),
  }))
  return { lines, calls: lines.filter(({ message }) => /^Tool |^HTTP request/.test(message)) }
}

describe('the log', () => {
  test.each(['off', undefined] as const)('has no parameters and results with storage.payloads %s', async (payloads) => {
    const { lines, calls } = await loggedWith(payloads)
    // The name of a tool that doesn't exist is no parameter.
    const texts = lines.map(({ text }) => text.replaceAll(`no_${GIVEN}`, 'unknown'))
    expect(texts.filter((text) => [GIVEN, CAME, FAILED].some((value) => text.includes(value)))).toEqual([])
    expect(calls.length).toBeGreaterThan(8)
    const failed = calls.find(({ fields }) => 'tool' in fields && fields.tool === 'fails')
    expect(failed?.fields).toMatchObject({
      success: false,
      error_code: 'EXECUTION_ERROR',
      stack: expect.stringContaining('serve.log.test.ts'),
      execution_time_ms: expect.any(Number),
    })
  })

  test('has those of failed calls with storage.payloads errors', async () => {
    const { calls } = await loggedWith('errors')
    for (const { fields, text } of calls) {
      const failed =
        'success' in fields && fields.success === false && !String('tool' in fields && fields.tool).startsWith('no_')
      if (failed) expect(text).toMatch(/given-4711|failed-4713/)
      else expect(text.replaceAll(`no_${GIVEN}`, '')).not.toMatch(/given-4711"|came-4712/)
    }
    expect(calls.map(({ text }) => text).join()).toContain(FAILED)
  })

  test('has all with storage.payloads all', async () => {
    const { calls } = await loggedWith('all')
    const text = calls.map((line) => line.text).join('\n')
    for (const value of [GIVEN, CAME, FAILED, `"/${GIVEN}"`]) expect(text).toContain(value)
  })
})
