import { audioRequest } from './audio-request.ts'
import { runCommand } from './run-command.ts'
import type { Settings } from './settings.ts'

export type Recognise = (wav: Uint8Array, signal: AbortSignal) => Promise<string>

const TIMEOUT_MS = 30_000
const MOST_BYTES = 10 * 1024 * 1024

/** Turns WAV into text: by the program that is configured, else by the endpoint, else not at all. */
export function recogniser({ recogniser: command, transcription }: Settings): Recognise {
  return async (wav, signal) => {
    checkWav(wav)
    if (command.length > 0) return (await runCommand(command, { input: wav, timeoutMs: TIMEOUT_MS, signal })).trim()
    if (transcription === undefined) {
      throw new Error(
        'there is no recogniser. Set TOOLYARD_VOICE_RECOGNISER to a program that reads WAV on stdin, or ' +
          'TOOLYARD_VOICE_TRANSCRIPTION_URL to an OpenAI-compatible endpoint',
      )
    }
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(wav)], { type: 'audio/wav' }), 'speech.wav')
    form.set('model', transcription.model)
    form.set('response_format', 'json')
    const answer = await audioRequest(transcription, '/audio/transcriptions', form, { timeoutMs: TIMEOUT_MS, signal })
    const { text } = Object(JSON.parse(new TextDecoder().decode(answer))) as { text?: unknown }
    if (typeof text !== 'string') throw new Error('the transcription endpoint gave no text')
    return text
  }
}

function checkWav(wav: Uint8Array): void {
  const word = (at: number) => String.fromCharCode(...wav.subarray(at, at + 4))
  if (word(0) !== 'RIFF' || word(8) !== 'WAVE') throw new Error('it is no WAV')
  if (wav.byteLength > MOST_BYTES) throw new Error(`it has ${wav.byteLength} bytes; the most is ${MOST_BYTES}`)
}
