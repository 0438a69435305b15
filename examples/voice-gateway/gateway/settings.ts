import { fileURLToPath } from 'node:url'

/** An OpenAI-compatible endpoint for audio. */
export interface AudioEndpoint {
  /** Up to and with `/v1`. */
  readonly url: string
  readonly key: string | undefined
  readonly model: string
}

/** What the gateway is told by its environment. */
export interface Settings {
  readonly mqttUrl: string
  /** Everything that is said and answered is below this topic. */
  readonly prefix: string
  readonly zwavePrefix: string
  /** `provider:model`; undefined: the one that is part of Toolyard. */
  readonly model: string | undefined
  /** Transcripts must begin with it; empty: every transcript is meant for us. */
  readonly wakePhrase: string
  /** The folder that `search` looks into, or `collections` for the knowledge collections of Toolyard. */
  readonly documents: string
  readonly transcription: AudioEndpoint | undefined
  /** A program that reads WAV on stdin and prints the transcript. */
  readonly recogniser: readonly string[]
  readonly speech: (AudioEndpoint & { readonly voice: string }) | undefined
  /** A program that plays the WAV on its stdin. */
  readonly player: readonly string[]
  /** How long one answer may take altogether. */
  readonly answerMs: number
  /** How long a device has to confirm a command. */
  readonly confirmMs: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings; `mqttUrl` is for the broker that the example brings along. */
export function readSettings(env: Environment, mqttUrl = 'mqtt://127.0.0.1:1883'): Settings {
  const value = (name: string, fallback = ''): string => env[`TOOLYARD_VOICE_${name}`]?.trim() || fallback
  const words = (name: string): string[] => value(name).split(/\s+/).filter(Boolean)
  const endpoint = (name: string, model: string): AudioEndpoint | undefined => {
    const url = value(`${name}_URL`).replace(/\/+$/, '')
    return url === ''
      ? undefined
      : { url, key: value(`${name}_KEY`) || undefined, model: value(`${name}_MODEL`, model) }
  }
  const speech = endpoint('SPEECH', 'tts-1')
  return {
    mqttUrl: env.MQTT_URL?.trim() || mqttUrl,
    prefix: value('TOPIC', 'voice'),
    zwavePrefix: value('ZWAVE_TOPIC', 'zwave'),
    model: value('MODEL') || undefined,
    wakePhrase: value('WAKE_PHRASE'),
    documents: value('DOCUMENTS', fileURLToPath(new URL('../household', import.meta.url))),
    transcription: endpoint('TRANSCRIPTION', 'whisper-1'),
    recogniser: words('RECOGNISER'),
    speech: speech && { ...speech, voice: value('SPEECH_VOICE', 'alloy') },
    player: words('PLAYER'),
    answerMs: 30_000,
    confirmMs: 5_000,
  }
}
