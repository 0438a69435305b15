import { fileURLToPath } from 'node:url'
import {
  type Clock,
  type Config,
  type Log,
  loadConfigFile,
  type Model,
  type ToolDefinition,
  ToolManager,
} from 'toolyard'
import { DeviceBook } from '../zwave-mcp-server/device-book.ts'
import { Answering } from './answering.ts'
import { BackgroundTranscriber } from './background-transcriber.ts'
import { localConfig, localHandlers } from './local-tools.ts'
import { MqttLine } from './mqtt-line.ts'
import { recogniser } from './recogniser.ts'
import type { Settings } from './settings.ts'
import { openSpeech, type Speech } from './speech.ts'
import type { VoiceResponse } from './voice-response.ts'
import { WakePhrase } from './wake-phrase.ts'
import { within } from './within.ts'

export interface VoiceGatewayParts {
  readonly settings: Settings
  readonly log: Log
  /** Where the model comes from, instead of the one that the settings name. */
  readonly model?: () => Promise<Model>
  readonly clock?: Clock
  readonly onHeard?: (id: string, text: string) => void
  readonly onResponse?: (response: VoiceResponse) => void
  readonly onDevices?: () => void
}

/** The parts that may be missing, and whether they are there now. */
export interface PartsReady {
  readonly mqtt: boolean
  readonly model: boolean
  readonly speech: boolean
  readonly mcp: boolean
}

const FOLDER = fileURLToPath(new URL('..', import.meta.url))
const SERVER = 'zwave'
/** The model that comes with Toolyard: no key, no server, no download. */
const EMBEDDED_MODEL = 'mini:v1'
const MODEL_MS = 10_000
/** Longer than three attempts take where the server ends at once; what takes longer goes on beside. */
const MCP_MS = 20_000
const MCP_RETRIES = 3
const MCP_PAUSE_MS = 1_100

/** Everything that a household speaks to: MQTT, model, speech and MCP, started side by side, each missed without harm. */
export class VoiceGateway {
  readonly transcriber: BackgroundTranscriber
  readonly devices = new DeviceBook()
  readonly #parts: VoiceGatewayParts
  readonly #manager: ToolManager
  readonly #line: MqttLine
  readonly #local: ReadonlySet<unknown>
  #speech: Speech = { description: 'starting', ready: false, speak: async () => {} }
  #modelReady = false
  #mcpStarted = false
  #retrying = false

  private constructor(parts: VoiceGatewayParts, config: Config) {
    const { settings, log, clock } = parts
    const { prefix, zwavePrefix } = settings
    this.#parts = parts
    this.#local = new Set(
      config.tools?.registry?.map((tool) => (typeof tool === 'string' ? tool : (tool as ToolDefinition).name)),
    )
    this.#line = new MqttLine(settings.mqttUrl, { topic: `${prefix}/status`, payload: 'offline' })
    const volumeChanged = (value: number): void =>
      this.#line.publish(`${prefix}/volume`, JSON.stringify({ time: Date.now(), value }), true)
    this.#manager = new ToolManager(localConfig(config, settings), {
      handlers: localHandlers(settings, volumeChanged),
      log,
      env: {
        ...process.env,
        VOICE_NODE: process.execPath,
        VOICE_FOLDER: FOLDER,
        VOICE_MQTT_URL: settings.mqttUrl,
        VOICE_ZWAVE_TOPIC: zwavePrefix,
        VOICE_CONFIRM_MS: String(settings.confirmMs),
      },
      ...(clock !== undefined && { clock }),
    })
    const answering = new Answering({
      loop: this.#manager.getLoop(),
      model: () => this.#model(),
      tools: () => this.tools(),
      answerMs: settings.answerMs,
    })
    this.transcriber = new BackgroundTranscriber({
      answer: (text, signal) => answering.answer(text, signal),
      speak: (text, signal) => this.#speech.speak(text, signal),
      recognise: recogniser(settings),
      respond: (response) => this.#respond(response),
      wake: new WakePhrase(settings.wakePhrase),
      log,
      ...(parts.onHeard !== undefined && { heard: parts.onHeard }),
    })
    this.#listen()
  }

  /** Reads the configuration beside this file; nothing is started yet. */
  static async open(parts: VoiceGatewayParts): Promise<VoiceGateway> {
    const { config } = await loadConfigFile(`${FOLDER}/toolyard.config.json`)
    return new VoiceGateway(parts, config)
  }

  /** Starts the four parts side by side, each with its own deadline. What is missing is said, and never rejects. */
  async start(): Promise<PartsReady> {
    await this.#manager.loadTools()
    await Promise.all([this.#startMqtt(), this.#startModel(), this.#startSpeech(), this.#startMcp()])
    return this.ready()
  }

  ready(): PartsReady {
    return {
      mqtt: this.#line.connected,
      model: this.#modelReady,
      speech: this.#speech.ready,
      mcp: this.#manager.getMcpServers().connection(SERVER).connected,
    }
  }

  /** The model of the settings, else the one that comes with Toolyard. */
  get modelId(): string {
    return this.#parts.settings.model ?? EMBEDDED_MODEL
  }

  /** The tools of the household: those of its configuration, and those of its MCP server. */
  tools(): string[] {
    const tools = this.#manager.getRegistry().definitions()
    const ours = ({ name, implementation }: ToolDefinition) => this.#local.has(name) || implementation?.type === 'mcp'
    return tools.filter(ours).map(({ name }) => name)
  }

  async close(): Promise<void> {
    await this.transcriber.close()
    this.#line.publish(`${this.#parts.settings.prefix}/status`, 'offline', true)
    await Promise.all([this.#line.close(), this.#manager.close()])
  }

  #listen(): void {
    const { settings, onDevices } = this.#parts
    const { prefix, zwavePrefix } = settings
    // What is retained was said to somebody else, some time ago.
    this.#line.listen(`${prefix}/transcript`, (_, payload, { retain }) => {
      if (!retain) this.transcriber.hearPayload(payload)
    })
    this.#line.listen(`${prefix}/audio`, (_, payload, { retain }) => {
      if (!retain) void this.transcriber.hearAudio(payload)
    })
    this.#line.listen(`${zwavePrefix}/#`, (topic, payload) => {
      if (this.devices.take(topic.slice(zwavePrefix.length + 1), payload) !== undefined) onDevices?.()
    })
    this.#line.onConnect(() => {
      this.#line.publish(`${prefix}/status`, 'online', true)
      void this.#retryMcp()
      onDevices?.()
    })
    this.#line.onClose(() => onDevices?.())
  }

  async #startMqtt(): Promise<void> {
    const { log } = this.#parts
    const reason = await this.#line.start()
    if (reason === undefined) log.info({}, 'MQTT broker connected')
    else
      log.warn(
        {},
        `MQTT broker not reached (${reason}): transcripts come from keyboard and page only. It is tried again by itself.`,
      )
  }

  async #startModel(): Promise<void> {
    const { log } = this.#parts
    try {
      await within(MODEL_MS, this.#lookForModel(), () => {
        throw new Error(`no answer within ${MODEL_MS / 1000} s.`)
      })
      this.#modelReady = true
      log.info({}, `Model ${this.modelId} is there`)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.warn({}, `Model ${this.modelId} is not there: ${reason} It is asked again with every transcript.`)
    }
  }

  async #lookForModel(): Promise<void> {
    await this.#model()
    if (this.#parts.model !== undefined) return
    const [provider = ''] = this.modelId.split(':')
    await (await this.#manager.getModels()).discover(provider)
  }

  async #startSpeech(): Promise<void> {
    const { settings, log } = this.#parts
    this.#speech = await openSpeech(settings, (wav) => this.#line.publish(`${settings.prefix}/speech`, wav))
    if (this.#speech.ready) log.info({}, `Speech: ${this.#speech.description}`)
    else log.warn({}, `Speech: ${this.#speech.description}`)
  }

  /** Toolyard itself says what went wrong, and goes on trying. */
  async #startMcp(): Promise<void> {
    await within(MCP_MS, this.#manager.getMcpServers().start(), () =>
      this.#parts.log.warn({ server: SERVER }, 'The MCP server has not answered yet: going on without it for now'),
    )
    this.#mcpStarted = true
  }

  /** The server ends where it finds no broker: once the broker is back there is no need to wait for its next attempt. */
  async #retryMcp(): Promise<void> {
    const connection = this.#manager.getMcpServers().connection(SERVER)
    if (!this.#mcpStarted || this.#retrying) return
    this.#retrying = true
    for (let attempt = 1; attempt <= MCP_RETRIES && this.#line.connected && !connection.connected; attempt++) {
      // An attempt that failed a moment ago would answer for this one.
      await new Promise((resolve) => setTimeout(resolve, MCP_PAUSE_MS))
      await connection.client(AbortSignal.timeout(MCP_MS)).then(
        () => this.#parts.log.warn({ server: SERVER }, 'MCP server connected: its tools are back'),
        () => {},
      )
    }
    this.#retrying = false
    this.#parts.onDevices?.()
  }

  async #model(): Promise<Model> {
    const { model } = this.#parts
    return model === undefined ? (await this.#manager.getModels()).get(this.modelId) : model()
  }

  #respond(response: VoiceResponse): void {
    const { prefix } = this.#parts.settings
    if (response.status === 'answered') this.#modelReady = true
    this.#line.publish(`${prefix}/response`, JSON.stringify(response))
    this.#line.publish(`${prefix}/response/text`, response.text)
    this.#parts.onResponse?.(response)
  }
}
