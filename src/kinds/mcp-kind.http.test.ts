import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { toolyard } from '../core/fixtures/code-yard.ts'
import type { Handler } from '../core/handler.ts'
import { type HttpService, serveHttp } from '../mcp/server/fixtures/serve-http.ts'
import { ToolServer } from '../mcp/server/tool-server.ts'
import { mcpYard } from './fixtures/mcp-yard.ts'

const parameters = { type: 'object', properties: { text: { type: 'string' } } }

/** A server of ours with one tool, on this port. */
async function serve(run: Handler, port = 0): Promise<HttpService> {
  const yard = toolyard()
  yard.add('echo', run, { parameters })
  const server = new ToolServer({ registry: yard.registry, executor: yard.executor, version: '1' })
  const service = await serveHttp(server, { port })
  onTestFinished(() => service.close())
  return service
}

const reach = ({ url }: HttpService) => ({ type: 'auto', url, headers: {}, fetch }) as const

describe('tools of an MCP server over HTTP', () => {
  test('are called, with progress', async () => {
    const service = await serve(async ({ text }, { report }) => {
      report({ progress: 1, total: 2 })
      return `said ${text}`
    })
    const { mcp, call } = mcpYard({ web: reach(service) })
    await mcp.start()
    const report = vi.fn()
    expect(await call('echo', { text: 'hi' }, { report })).toMatchObject({ success: true, result: 'said hi' })
    expect(report).toHaveBeenCalledWith(expect.objectContaining({ progress: 1, total: 2 }))
  })

  test('a server that was restarted, its sessions gone: the next call works', async () => {
    const run = vi.fn(async () => 'here')
    const first = await serve(run)
    const { mcp, call } = mcpYard({ web: reach(first) })
    await mcp.start()
    expect(await call('echo')).toMatchObject({ success: true })
    await first.close()
    await serve(run, Number(new URL(first.url).port))
    expect(await call('echo')).toMatchObject({ success: true, result: 'here' })
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('reports a stopped server as unavailable until it returns', async () => {
    const first = await serve(async () => 'here')
    const { mcp, call } = mcpYard({ web: reach(first) })
    await mcp.start()
    await first.close()
    const lost = await call('echo')
    expect(lost).toMatchObject({ success: false, error_code: 'SERVICE_UNAVAILABLE' })
    expect(JSON.stringify(lost)).not.toContain('127.0.0.1')
    await serve(async () => 'back', Number(new URL(first.url).port))
    await vi.waitFor(async () => expect(await call('echo')).toMatchObject({ result: 'back' }), {
      interval: 200,
    })
  })

  test('cancelling reaches the tool on the other side', async () => {
    const aborted = vi.fn()
    const service = await serve((_, { signal }) => {
      signal.addEventListener('abort', aborted)
      return new Promise(() => {})
    })
    const { mcp, call } = mcpYard({ web: reach(service) })
    await mcp.start()
    const controller = new AbortController()
    const calling = call('echo', {}, { signal: controller.signal })
    setTimeout(() => controller.abort(), 200)
    expect(await calling).toMatchObject({ error_code: 'CANCELLED' })
    await vi.waitFor(() => expect(aborted).toHaveBeenCalled())
  })
})
