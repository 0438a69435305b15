import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Model } from 'toolyard'
import { scripted } from 'toolyard/testing'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { switching, testBroker, testGateway, testHouse } from '../examples/voice-gateway/fixtures/house.ts'

const WAIT = { timeout: 20_000, interval: 50 }

/** Listens on a free port; it is closed when the test is over. */
async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A loudspeaker by OpenAI's protocol: what it was given to say. */
async function speaker() {
  const spoken: string[] = []
  const server = createHttpServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    spoken.push(JSON.parse(body).input)
    response.end('RIFF....WAVE')
  })
  const url = `http://127.0.0.1:${await listening(server)}/v1`
  return { spoken, settings: { speech: { url, key: undefined, model: 'tts-1', voice: 'alloy' } } }
}

beforeEach(() => {
  // No voice and no mixer of this machine takes part.
  vi.stubEnv('PATH', '/nonexistent')
  return () => void vi.unstubAllEnvs()
})

describe('A household speaks', () => {
  test('[9.1-1] answers a transcript with tools and passes the answer on to speech', async () => {
    const { spoken, settings } = await speaker()
    const model = scripted(switching('switch one'), 'Switch one is on.')
    const { client, devices, gateway } = await testHouse(model, settings)
    await client.publish('voice/transcript', 'turn on switch one')
    await vi.waitFor(() => expect(client.texts('voice/speech')).toEqual(['RIFF....WAVE']), WAIT)
    await gateway.transcriber.idle()
    expect(spoken).toEqual(['Switch one is on.'])
    expect(devices.value('switch_one')).toBe(true)
    expect(client.texts('voice/response/text')).toEqual(['Switch one is on.'])
    expect(JSON.parse(client.texts('voice/response')[0] ?? '')).toMatchObject({
      transcript: 'turn on switch one',
      text: 'Switch one is on.',
      status: 'answered',
      tool_calls: [{ tool: 'control_zwave_device', result: { success: true, result: 'switch one is on.' } }],
    })
  })

  test('[9.1-2] has datetime, search and volume as local tools', async () => {
    const calls = [
      { name: 'datetime' },
      { name: 'search', arguments: { query: 'glass bin' } },
      { name: 'volume', arguments: { operation: 'set', level: 30 } },
    ]
    const { gateway, responses, client } = await testHouse(scripted({ calls }, 'Done.'))
    gateway.transcriber.hear('the time, the bins, and quieter please')
    await gateway.transcriber.idle()
    expect(responses[0]?.tool_calls).toMatchObject([
      { tool: 'datetime', result: { success: true, result: { weekday: expect.any(String) } } },
      { tool: 'search', result: { success: true, result: { results: [{ source: 'notes.md' }] } } },
      { tool: 'volume', result: { success: true, result: { volume: 30 } } },
    ])
    await vi.waitFor(
      () => expect(client.texts('voice/volume').map((text) => JSON.parse(text).value)).toEqual([30]),
      WAIT,
    )
  })

  test('[9.1-3] switches devices through the Z-Wave MCP server', async () => {
    const model = scripted(switching('the kitchen lamp'), switching('kitchen lamp', 'off'), 'It was on for a moment.')
    const { gateway, responses, devices, ready } = await testHouse(model)
    expect(ready).toMatchObject({ mqtt: true, mcp: true })
    gateway.transcriber.hear('blink the kitchen lamp')
    await gateway.transcriber.idle()
    // The model said device_name and command, as models do.
    expect(responses[0]?.tool_calls).toMatchObject([
      {
        params: { device_name: 'the kitchen lamp', command: 'on' },
        result: { result: 'kitchen lamp is on at 100 percent.' },
      },
      { result: { result: 'kitchen lamp is off.' } },
    ])
    expect(devices.commands).toEqual([
      { device: 'lamp', value: 255 },
      { device: 'lamp', value: 0 },
    ])
  })

  test('[9.1-4] starts MQTT, model, speech and MCP in parallel', async () => {
    const broker = await testBroker()
    const { settings } = await speaker()
    // Nobody gets on before all have begun: the gateway and the MCP server at the broker, and whoever wants the model.
    const begun = new Set<string>()
    const all = Promise.withResolvers<void>()
    const begin = (part: string): Promise<void> => {
      begun.add(part)
      if (begun.size === 3) all.resolve()
      return all.promise
    }
    const sockets = new Set<Socket>()
    const gate = createServer(async (socket) => {
      sockets.add(socket.on('error', () => {}))
      await begin(`broker ${sockets.size}`)
      const beyond = connect(broker.port, '127.0.0.1').on('error', () => {})
      socket.pipe(beyond).pipe(socket)
      socket.once('close', () => beyond.destroy())
    })
    const port = await listening(gate)
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    const model = (): Promise<Model> => begin('model').then(() => scripted())
    const { gateway } = await testGateway(`mqtt://127.0.0.1:${port}`, model, settings)
    expect(await gateway.start()).toEqual({ mqtt: true, model: true, speech: true, mcp: true })
    expect([...begun].sort()).toEqual(['broker 1', 'broker 2', 'model'])
  })

  test('[9.1-5] goes on with local tools without the MCP server', async () => {
    const { url, close } = await testBroker()
    await close()
    const model = scripted({ calls: [{ name: 'datetime' }] }, 'It is late.')
    const { gateway, said, responses } = await testGateway(url, model)
    expect(await gateway.start()).toMatchObject({ mqtt: false, mcp: false, model: true })
    const begin = said().indexOf('MCP connection failed after 3 attempts')
    expect(said().slice(begin, begin + 5)).toEqual([
      'MCP connection failed after 3 attempts',
      expect.stringMatching(/^Reason: ./),
      expect.stringMatching(/^MCP Server stderr: zwave-mcp-server: The MQTT broker cannot be reached: ECONNREFUSED$/),
      'Check: MQTT broker running, zwave-mcp-server installed',
      expect.stringMatching(/^Continuing with local tools only \(.*datetime, search, volume.*\)$/),
    ])
    expect(gateway.tools()).toEqual(['datetime', 'search', 'volume'])
    gateway.transcriber.hear('what time is it')
    await gateway.transcriber.idle()
    expect(responses).toMatchObject([{ text: 'It is late.', tool_calls: [{ result: { success: true } }] }])
  })
})
