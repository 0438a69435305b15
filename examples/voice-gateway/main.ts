/**
 * The voice gateway in one command: `npm run example:voice`. Without MQTT_URL it brings its own broker and four simulated
 * devices. Type what you would say; `wav FILE` takes a recording; Ctrl+D ends.
 */
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { consoleLog } from './gateway/console-log.ts'
import { readSettings } from './gateway/settings.ts'
import { VoiceGateway } from './gateway/voice-gateway.ts'
import type { VoiceResponse } from './gateway/voice-response.ts'
import { type LivePage, startPage } from './page/live-page.ts'
import { startBroker } from './simulation/embedded-broker.ts'
import { HOUSE, simulateDevices } from './simulation/simulated-devices.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const log = consoleLog()

const broker = process.env.MQTT_URL ? undefined : await startBroker()
const devices = broker && (await simulateDevices({ url: broker.url }))
const settings = readSettings(process.env, broker?.url)

let page: LivePage | undefined
const shown = new Map<string, string>()
const gateway = await VoiceGateway.open({
  settings,
  log,
  onHeard: (id, text) => {
    say(`you:   ${text}`)
    page?.tell('heard', { id, text })
  },
  onResponse: (response) => {
    showResponse(response)
    page?.tell('response', response)
    page?.refresh()
  },
  onDevices: () => {
    showDevices()
    page?.refresh()
  },
})

function showResponse({ text, tool_calls }: VoiceResponse): void {
  for (const { tool, params, result } of tool_calls) {
    say(`       ${tool} ${JSON.stringify(params)} → ${JSON.stringify(result.success ? result.result : result.error)}`)
  }
  say(`house: ${text}`)
}

/** Says what has changed; what the devices are at first is no change. */
function showDevices(): void {
  for (const { name, location = '', state, level } of gateway.devices.list()) {
    const key = `${location} ${name}`.trim()
    const now = level === undefined || state === 'off' ? state : `${state}, ${level} %`
    const before = shown.get(key)
    if (before !== undefined && before !== now) say(`   *   ${key} is ${now}`)
    shown.set(key, now)
  }
}

let closing: Promise<unknown> | undefined
function close(): Promise<unknown> {
  closing ??= Promise.all([gateway.close(), page?.close(), devices?.close()]).then(() => broker?.close())
  return closing
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void close().then(() => process.exit(0)))

page = await startPage({
  state: () => ({ devices: gateway.devices.list(), ready: gateway.ready() }),
  say: (text) => gateway.transcriber.hear(text),
  port: Number(process.env.TOOLYARD_VOICE_PORT ?? 0),
})
say(`Page:    ${page.url}`)
say(`Broker:  ${broker ? `${broker.url}, with ${HOUSE.length} simulated devices` : 'yours, at MQTT_URL'}`)
const { mqtt, mcp } = await gateway.start()
say(`Model:   ${gateway.modelId}`)
say(`Tools:   ${gateway.tools().join(', ')}`)
if (mqtt) say(`Listens: ${settings.prefix}/transcript, answers on ${settings.prefix}/response`)
say(mcp ? 'Say something, such as: turn on switch one' : 'Say something, such as: what time is it')

for await (const line of createInterface({ input: process.stdin })) {
  const [, file] = /^wav\s+(.+)$/.exec(line.trim()) ?? []
  if (file !== undefined) {
    await readFile(file).then(
      (wav) => gateway.transcriber.hearAudio(wav),
      () => say(`There is no file ${file} that can be read.`),
    )
  } else if (line.trim() !== '') gateway.transcriber.hear(line)
}
await gateway.transcriber.idle()
await close()
