import { audioRequest } from './audio-request.ts'
import { runCommand } from './run-command.ts'
import type { Settings } from './settings.ts'

/** The way out for what is said. */
export interface Speech {
  /** What it speaks with, or why it does not. */
  readonly description: string
  readonly ready: boolean
  readonly speak: (text: string, signal: AbortSignal) => Promise<void>
}

const LOOK_MS = 3_000
const FETCH_MS = 20_000
/** Nobody listens longer. */
const SPEAK_MS = 120_000
const ESPEAK = 'espeak-ng'

/**
 * Finds the way to speak: `espeak-ng` where it is installed, else the endpoint, else none. What the endpoint gives goes to
 * `publish`, for the loudspeakers in the house, and to the player where there is one.
 */
export async function openSpeech(
  { speech, player }: Pick<Settings, 'speech' | 'player'>,
  publish: (wav: Uint8Array) => void,
): Promise<Speech> {
  const installed = await runCommand([ESPEAK, '--version'], { timeoutMs: LOOK_MS }).then(
    () => true,
    () => false,
  )
  if (installed) return { description: ESPEAK, ready: true, speak: espeak }
  if (speech === undefined) {
    const description = `text only: ${ESPEAK} is not installed, and TOOLYARD_VOICE_SPEECH_URL is not set`
    return { description, ready: false, speak: async () => {} }
  }
  return {
    description: `${speech.model} (${speech.voice})`,
    ready: true,
    speak: async (text, signal) => {
      const { model, voice } = speech
      const request = { model, voice, input: text, response_format: 'wav' }
      const wav = await unlessBrokenOff(
        audioRequest(speech, '/audio/speech', request, { timeoutMs: FETCH_MS, signal }),
        signal,
      )
      if (wav === undefined) return
      publish(wav)
      if (player.length > 0) {
        await unlessBrokenOff(runCommand(player, { input: wav, timeoutMs: SPEAK_MS, signal }), signal)
        // An empty message tells the loudspeakers to stop as well.
        if (signal.aborted) publish(new Uint8Array())
      }
    },
  }
}

/** The text goes in by stdin: as an argument, one that begins with "-" would be an option. */
async function espeak(text: string, signal: AbortSignal): Promise<void> {
  await unlessBrokenOff(runCommand([ESPEAK, '--stdin'], { input: text, timeoutMs: SPEAK_MS, signal }), signal)
}

/** Being broken off is no fault. */
async function unlessBrokenOff<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}
