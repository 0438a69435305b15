import { randomUUID } from 'node:crypto'
import type { Log } from 'toolyard'
import { readTranscript, type Utterance, utterance } from './read-transcript.ts'
import type { Reply, VoiceResponse } from './voice-response.ts'
import type { WakePhrase } from './wake-phrase.ts'

export interface TranscriberParts {
  /** Asks the model; the signal ends everything that runs for it, tool calls included. Never rejects. */
  readonly answer: (text: string, signal: AbortSignal) => Promise<Reply>
  /** Says it aloud; resolves when it has been said or broken off. */
  readonly speak: (text: string, signal: AbortSignal) => Promise<void>
  readonly recognise: (wav: Uint8Array, signal: AbortSignal) => Promise<string>
  readonly respond: (response: VoiceResponse) => void
  /** Told what was heard and is going to be answered. */
  readonly heard?: (id: string, text: string) => void
  readonly wake: WakePhrase
  readonly log: Log
}

interface Wanted {
  readonly id: string
  readonly text: string
}

const MOST_WAITING = 5
const MOST_IDS = 64
/** What ends the answer that is running, and what follows it is wanted next. "Stop the heater" is a wish like others. */
const STOP = /^(?:stop|cancel|never ?mind|be quiet|shut up|forget it)(?:\s*[,.!;:]+\s*|\s*$)/i

/**
 * Takes transcripts, asks a model with tools, and hands the answers on to speech, one after the other.
 *
 * What is said while an answer is being found waits its turn, in order: two people may each want a light. Only a barge-in
 * breaks the answer off: a transcript that is marked as one, or that begins with "stop". What is said while an answer is
 * being *spoken* ends the speaking, because the answer is known by then.
 */
export class BackgroundTranscriber {
  readonly #parts: TranscriberParts
  readonly #waiting: Wanted[] = []
  readonly #ids = new Set<string>()
  readonly #closing = new AbortController()
  /** The answer that is being found, and the speech that is being spoken. */
  #answering: AbortController | undefined
  #speaking: AbortController | undefined
  #recognising = false
  #working: Promise<void> | undefined

  constructor(parts: TranscriberParts) {
    this.#parts = parts
  }

  /** Takes a message of the topic for transcripts, whatever is in it. */
  hearPayload(payload: Uint8Array): void {
    this.#hear(readTranscript(payload))
  }

  /** Takes a text. */
  hear(text: string): void {
    this.#hear(utterance(text))
  }

  /** Takes a recording. Of two at a time the second is refused: one recogniser is as much as a small machine carries. */
  async hearAudio(wav: Uint8Array): Promise<void> {
    if (this.#closing.signal.aborted) return
    if (this.#recognising) {
      this.#refuse('', 'I am still listening to what was said before.')
      return
    }
    this.#recognising = true
    try {
      this.hear(await this.#parts.recognise(wav, this.#closing.signal))
    } catch (error) {
      if (this.#closing.signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      this.#parts.log.warn({ reason }, `Audio not understood: ${reason}`)
      this.#refuse('', 'I could not understand the audio.')
    } finally {
      this.#recognising = false
    }
  }

  /** Resolves when nothing is being answered or spoken and nothing waits. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  /** Breaks off what runs, and takes nothing more. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#breakOff()
    await this.idle()
  }

  #hear(read: Utterance | string): void {
    if (this.#closing.signal.aborted) return
    if (typeof read === 'string') {
      this.#parts.log.warn({}, `Transcript ignored: ${read}`)
      return
    }
    if (this.#heardBefore(read.id)) return
    const wanted = this.#parts.wake.wanted(read.text)
    if (wanted === undefined) {
      this.#parts.log.debug({}, 'Transcript ignored: it does not begin with the wake phrase')
      return
    }
    // Saying the phrase alone is enough to make it listen, and be quiet.
    this.#speaking?.abort()
    const rest = wanted.replace(STOP, '')
    if (read.bargeIn || rest !== wanted) this.#breakOff()
    if (rest !== '') this.#take({ id: read.id ?? randomUUID(), text: rest })
  }

  #heardBefore(id: string | undefined): boolean {
    if (id === undefined) return false
    if (this.#ids.has(id)) return true
    this.#ids.add(id)
    const [oldest] = this.#ids
    if (this.#ids.size > MOST_IDS && oldest !== undefined) this.#ids.delete(oldest)
    return false
  }

  #breakOff(): void {
    for (const { id, text } of this.#waiting.splice(0))
      this.#respond({ id, text }, { text: 'Stopped.', status: 'cancelled' })
    this.#answering?.abort()
    this.#speaking?.abort()
  }

  #take(wanted: Wanted): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#refuse(wanted.text, 'Too much at once: please say that again when I have answered.', wanted.id)
      return
    }
    this.#waiting.push(wanted)
    this.#parts.heard?.(wanted.id, wanted.text)
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
    })
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#answering = new AbortController()
      const reply = await this.#parts.answer(next.text, this.#answering.signal)
      this.#answering = undefined
      this.#respond(next, reply)
      if (reply.status === 'cancelled' || this.#waiting.length > 0 || this.#closing.signal.aborted) continue
      this.#speaking = new AbortController()
      await this.#parts.speak(reply.text, this.#speaking.signal).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        this.#parts.log.warn({ reason }, `Not spoken: ${reason}`)
      })
      this.#speaking = undefined
    }
  }

  #refuse(transcript: string, text: string, id: string = randomUUID()): void {
    this.#respond({ id, text: transcript }, { text, status: 'refused' })
  }

  #respond(
    { id, text: transcript }: Wanted,
    { text, status, tool_calls = [] }: Pick<Reply, 'text' | 'status'> & Partial<Reply>,
  ): void {
    this.#parts.respond({ id, transcript, text, status, tool_calls, time: Date.now() })
  }
}
