import { scripted } from 'toolyard/testing'
import { describe, expect, test, vi } from 'vitest'
import { switching, testBroker, testClient, testDevices, testGateway, testHouse } from '../fixtures/house.ts'

const FULL = process.env.TOOLYARD_TEST_FULL === '1'

const WAIT = { interval: 50 }

describe('the voice gateway', () => {
  test('barge-in cancels the tool call in flight; the device was told once, and that is said to be unknown', async () => {
    const { client, devices, responses } = await testHouse(
      scripted(switching('cellar light'), switching('switch one'), 'Switch one is on.'),
      { confirmMs: 25_000 },
    )
    await client.publish('voice/transcript', 'turn on the cellar light')
    await vi.waitFor(() => expect(devices.commands).toHaveLength(1), WAIT)
    await client.publish('voice/transcript', 'stop, turn on switch one')
    await vi.waitFor(() => expect(responses).toHaveLength(2), WAIT)
    expect(responses).toMatchObject([
      {
        transcript: 'turn on the cellar light',
        status: 'cancelled',
        text: 'Stopped. Whether control_zwave_device was carried out is not known.',
      },
      { transcript: 'turn on switch one', status: 'answered', text: 'Switch one is on.' },
    ])
    expect(devices.commands).toEqual([
      { device: 'cellar_light', value: true },
      { device: 'switch_one', value: true },
    ])
  })

  test('the tools of a household are offered; if a device never answers, the model hears that the outcome is unknown', async () => {
    const model = scripted(switching('cellar light'), 'I do not know whether the cellar light is on.')
    const { client, responses } = await testHouse(model, { confirmMs: 500 })
    await client.publish('voice/transcript', 'turn on the cellar light')
    await vi.waitFor(() => expect(responses).toHaveLength(1), WAIT)
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('the outcome is unknown')
    expect(model.requests[0]?.tools.map(({ name }) => name).sort()).toEqual([
      'control_zwave_device',
      'datetime',
      'get_device_state',
      'list_devices',
      'search',
      'volume',
    ])
  })

  test('hostile transcripts change nothing, and what was retained is not done', async () => {
    const model = scripted('I am here.')
    const { broker, client, responses, gateway } = await testHouse(model)
    const speaker = await testClient(broker.url)
    await client.publish('voice/transcript', 'x'.repeat(5_000_000))
    await client.publish('voice/transcript', Buffer.from([0xff, 0x00, 0xfe]))
    await client.publish('voice/transcript', `{"text":${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}}`)
    await client.publish('voice/audio', Buffer.alloc(100_000))
    await client.publish('voice/transcript', 'are you there')
    await vi.waitFor(() => expect(responses.at(-1)).toMatchObject({ text: 'I am here.' }), WAIT)
    expect(model.requests).toHaveLength(1)
    await gateway.close()
    await client.publish('voice/transcript', 'turn on switch one', true)
    const second = await testGateway(broker.url, scripted())
    await second.gateway.start()
    await speaker.publish('voice/transcript', '{}')
    await vi.waitFor(() => expect(second.said().join()).toContain('without "text"'), WAIT)
    expect(second.responses).toEqual([])
  })

  test.runIf(FULL)('the broker goes away and comes back: said, and everything works again by itself', async () => {
    const asked = Array.from({ length: 50 }, () => [switching('switch one'), 'Done.'])
    const model = scripted('I am here.', ...asked.flat())
    const { broker, gateway, responses, devices } = await testHouse(model)
    await broker.close()
    await vi.waitFor(() => expect(gateway.ready().mqtt).toBe(false), WAIT)
    gateway.transcriber.hear('are you there')
    await vi.waitFor(() => expect(responses).toHaveLength(1), WAIT)
    await testBroker(broker.port)
    await vi.waitFor(() => expect(gateway.ready()).toMatchObject({ mqtt: true, mcp: true }), WAIT)
    const client = await testClient(broker.url)
    // The devices and their server come back by themselves too, a little later.
    await vi.waitFor(async () => {
      const before = client.texts('voice/response/text').length
      await client.publish('voice/transcript', 'turn on switch one')
      await vi.waitFor(() => expect(client.texts('voice/response/text').length).toBeGreaterThan(before), {
        ...WAIT,
        timeout: 5_000,
      })
      expect(devices.value('switch_one')).toBe(true)
    }, WAIT)
  })

  test.runIf(FULL)(
    'the broker is down at the start: three attempts, degraded, and the tools come with the broker',
    async () => {
      const { url, port, close } = await testBroker()
      await close()
      const { gateway, responses, said } = await testGateway(
        url,
        scripted({ calls: [{ name: 'datetime' }] }, 'It is late.', switching('switch one'), 'Switch one is on.'),
      )
      expect(await gateway.start()).toMatchObject({ mqtt: false, model: true, mcp: false })
      expect(said().filter((line) => /^MCP connection attempt \d of 3$/.test(line))).toHaveLength(3)
      gateway.transcriber.hear('what time is it')
      await gateway.transcriber.idle()
      expect(responses[0]).toMatchObject({ text: 'It is late.', tool_calls: [{ result: { success: true } }] })

      await testBroker(port)
      await testDevices(url)
      await vi.waitFor(() => expect(gateway.ready()).toMatchObject({ mqtt: true, mcp: true }), WAIT)
      await vi.waitFor(() => expect(gateway.devices.size).toBeGreaterThan(0), WAIT)
      gateway.transcriber.hear('turn on switch one')
      await gateway.transcriber.idle()
      expect(responses[1]).toMatchObject({ tool_calls: [{ result: { success: true, result: 'switch one is on.' } }] })
    },
  )

  test('a model that is not there is said, at the start and in the answer', async () => {
    const { url } = await testBroker()
    const { gateway, responses, said } = await testGateway(url, undefined, { model: 'nowhere:at-all' })
    expect(await gateway.start()).toMatchObject({ mqtt: true, model: false, mcp: true })
    expect(said().join('\n')).toContain('Model nowhere:at-all is not there: Provider nowhere not found')
    gateway.transcriber.hear('hello')
    await gateway.transcriber.idle()
    expect(responses).toMatchObject([{ status: 'failed', text: expect.stringContaining('Provider nowhere not found') }])
  })

  test('the last exchanges are remembered', async () => {
    const model = scripted('Blue.', 'You asked for a colour.')
    const { url } = await testBroker()
    const { gateway } = await testGateway(url, model)
    for (const text of ['name a colour', 'what did I ask for']) {
      gateway.transcriber.hear(text)
      await gateway.transcriber.idle()
    }
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      { role: 'user', content: 'name a colour' },
      { role: 'assistant', content: 'Blue.' },
      { role: 'user', content: 'what did I ask for' },
    ])
  })
})
