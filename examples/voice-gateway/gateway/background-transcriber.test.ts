import { silentLog } from 'toolyard'
import { captureLog } from 'toolyard/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { BackgroundTranscriber } from './background-transcriber.ts'
import type { Reply, VoiceResponse } from './voice-response.ts'
import { WakePhrase } from './wake-phrase.ts'

interface Pending {
  readonly text: string
  readonly signal: AbortSignal
  readonly finish: (reply?: Partial<Reply>) => void
}

/** A transcriber whose answers end when the test says, or when they are broken off. */
function transcribing(phrase = '', now = () => 0, log = captureLog()) {
  const asked: Pending[] = []
  const spoken: Pending[] = []
  const responses: VoiceResponse[] = []
  const hold = (list: Pending[], text: string, signal: AbortSignal) =>
    new Promise<Reply>((resolve) => {
      const finish = (reply: Partial<Reply> = {}) =>
        resolve({ text: `done: ${text}`, status: 'answered', tool_calls: [], ...reply })
      signal.addEventListener('abort', () => finish({ text: 'Stopped.', status: 'cancelled' }))
      list.push({ text, signal, finish })
    })
  const transcriber = new BackgroundTranscriber({
    answer: (text, signal) => hold(asked, text, signal),
    speak: async (text, signal) => void (await hold(spoken, text, signal)),
    recognise: async (wav) => {
      if (wav.byteLength === 0) throw new Error('it is no WAV')
      return new TextDecoder().decode(wav)
    },
    respond: (response) => void responses.push(response),
    wake: new WakePhrase(phrase, now),
    log,
  })
  onTestFinished(() => transcriber.close())
  const bytes = (payload: string | Buffer) => transcriber.hearPayload(Buffer.from(payload))
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const texts = () => responses.map(({ text, status }) => `${status}: ${text}`)
  return { transcriber, asked, spoken, responses, texts, bytes, settle, log }
}

describe('BackgroundTranscriber', () => {
  test('answers, responds, and speaks the answer', async () => {
    const { bytes, asked, spoken, responses, settle, transcriber } = transcribing()
    bytes('turn on switch one')
    asked[0]?.finish({ text: 'It is on.' })
    await settle()
    expect(responses).toMatchObject([{ transcript: 'turn on switch one', text: 'It is on.', status: 'answered' }])
    expect(spoken.map(({ text }) => text)).toEqual(['It is on.'])
    spoken[0]?.finish()
    await transcriber.idle()
  })

  test('what is said meanwhile waits its turn, in order; only the last of them is spoken', async () => {
    const { transcriber, asked, spoken, texts, settle } = transcribing()
    for (const text of ['one', 'two', 'three']) transcriber.hear(text)
    expect(asked.map(({ text }) => text)).toEqual(['one'])
    for (const index of [0, 1, 2]) {
      asked[index]?.finish()
      await settle()
    }
    expect(texts()).toEqual(['answered: done: one', 'answered: done: two', 'answered: done: three'])
    expect(spoken.map(({ text }) => text)).toEqual(['done: three'])
  })

  test('five may wait; the next is refused', () => {
    const { transcriber, responses } = transcribing()
    for (let index = 0; index < 8; index++) transcriber.hear(`wish ${index}`)
    expect(responses.map(({ transcript, status }) => [transcript, status])).toEqual([
      ['wish 6', 'refused'],
      ['wish 7', 'refused'],
    ])
  })

  test('a barge-in breaks off what runs and what waits, and is answered next', async () => {
    const { bytes, asked, texts, settle } = transcribing()
    bytes('tell me a story')
    bytes('and another')
    bytes(JSON.stringify({ text: 'turn on switch one', barge_in: true }))
    await settle()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(texts()).toEqual(['cancelled: Stopped.', 'cancelled: Stopped.'])
    expect(asked.map(({ text }) => text)).toEqual(['tell me a story', 'turn on switch one'])
  })

  test.each([
    ['stop', []],
    ['Never mind.', []],
    ['Stop, turn on switch two', ['turn on switch two']],
  ])('"%s" breaks off, and what follows it is wanted', async (said, next) => {
    const { transcriber, asked, settle } = transcribing()
    transcriber.hear('tell me a story')
    transcriber.hear(said)
    await settle()
    expect(asked[0]?.signal.aborted).toBe(true)
    expect(asked.slice(1).map(({ text }) => text)).toEqual(next)
  })

  test('"stop the heater" is a wish like others', async () => {
    const { transcriber, asked, settle } = transcribing()
    transcriber.hear('tell me a story')
    transcriber.hear('stop the heater')
    await settle()
    expect(asked[0]?.signal.aborted).toBe(false)
  })

  test('speaking ends when somebody speaks', async () => {
    const { transcriber, asked, spoken, settle } = transcribing()
    transcriber.hear('tell me a story')
    asked[0]?.finish()
    await settle()
    transcriber.hear('what time is it')
    await settle()
    expect(spoken[0]?.signal.aborted).toBe(true)
    expect(asked[1]).toMatchObject({ text: 'what time is it', signal: { aborted: false } })
  })

  test('with a wake phrase only what begins with it is meant', () => {
    let now = 0
    const { transcriber, asked } = transcribing('hey house', () => now)
    transcriber.hear('turn on switch one')
    transcriber.hear('hey household, turn on switch one')
    expect(asked).toEqual([])
    transcriber.hear('Hey, House! Turn on switch one.')
    expect(asked[0]?.text).toBe('Turn on switch one.')
    asked[0]?.finish()
    transcriber.hear('hey house')
    now = 9_000
    transcriber.hear('too late')
    transcriber.hear('hey house')
    now = 10_000
    transcriber.hear('stop')
    expect(asked[0]?.signal.aborted).toBe(true)
  })

  test('the same id is heard once', async () => {
    const { bytes, asked, settle } = transcribing()
    const message = JSON.stringify({ text: 'turn on switch one', id: 'a' })
    bytes(message)
    asked[0]?.finish()
    await settle()
    bytes(message)
    expect(asked).toHaveLength(1)
  })

  test.each([
    ['a megabyte', 'x'.repeat(1_000_000)],
    ['too many words', 'word '.repeat(600)],
    ['binary', Buffer.from([0xff, 0xfe, 0x00, 0x81])],
    ['deep JSON', `{"text":${'['.repeat(8_000)}`],
    ['deep JSON that is whole', `{"text":${'['.repeat(4_000)}${']'.repeat(4_000)}}`],
    ['JSON without text', '{"text": 7}'],
    ['a prototype', '{"__proto__": {"text": "turn on switch one"}}'],
    ['an id that is none', '{"text": "on", "id": {"a": 1}}'],
    ['nothing', ''],
    ['blanks and control characters', '\u0000 \n\t\u0007'],
  ])('%s is ignored with a warning', (_, payload) => {
    const { bytes, asked, log } = transcribing()
    bytes(payload)
    expect(asked).toEqual([])
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringMatching(/^Transcript ignored: an? /) }])
    expect(log.lines[0]?.message.length).toBeLessThan(200)
  })

  test('audio is understood, or said to be not', async () => {
    const { transcriber, asked, texts } = transcribing()
    await transcriber.hearAudio(new TextEncoder().encode('what time is it'))
    expect(asked[0]?.text).toBe('what time is it')
    await transcriber.hearAudio(new Uint8Array())
    expect(texts()).toEqual(['refused: I could not understand the audio.'])
  })

  test('speech that fails costs nothing but itself', async () => {
    const responses: VoiceResponse[] = []
    const transcriber = new BackgroundTranscriber({
      answer: async (text) => ({ text, status: 'answered', tool_calls: [] }),
      speak: vi.fn().mockRejectedValue(new Error('no loudspeaker')),
      recognise: async () => '',
      respond: (response) => void responses.push(response),
      wake: new WakePhrase(''),
      log: silentLog,
    })
    transcriber.hear('one')
    await transcriber.idle()
    transcriber.hear('two')
    await transcriber.idle()
    expect(responses).toHaveLength(2)
  })

  test('closing breaks off, and takes nothing more', async () => {
    const { transcriber, asked } = transcribing()
    transcriber.hear('tell me a story')
    await transcriber.close()
    expect(asked[0]?.signal.aborted).toBe(true)
    transcriber.hear('more')
    expect(asked).toHaveLength(1)
  })
})
