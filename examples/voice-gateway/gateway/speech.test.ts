import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { recogniser } from './recogniser.ts'
import { readSettings } from './settings.ts'
import { openSpeech } from './speech.ts'

/** Half a second of silence. */
const WAV = Buffer.concat([Buffer.from('RIFF\x24\x1f\x00\x00WAVEfmt ', 'latin1'), Buffer.alloc(8_000)])
const never = new AbortController().signal

async function bin(programs: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-voice-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script.replaceAll('HERE', folder)}\n`)
    await chmod(join(folder, name), 0o755)
  }
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  return folder
}

/** An endpoint that speaks OpenAI's audio protocol, as far as it is used. */
async function endpoint(
  answer: (request: IncomingMessage, body: Buffer) => { status?: number; body: string | Buffer } | undefined,
) {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const given = answer(request, Buffer.concat(parts))
    if (given !== undefined) response.writeHead(given.status ?? 200).end(given.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

describe('speech', () => {
  test('espeak-ng where it is installed; the text is no option', async () => {
    const folder = await bin({ 'espeak-ng': 'echo "$@" >> HERE/args; cat > HERE/said' })
    const speech = await openSpeech(readSettings({}), () => {})
    expect(speech).toMatchObject({ description: 'espeak-ng', ready: true })
    await speech.speak('-v evil "quoted" $(touch HERE/pwned)', never)
    expect(await readFile(join(folder, 'said'), 'utf8')).toBe('-v evil "quoted" $(touch HERE/pwned)')
    expect((await readFile(join(folder, 'args'), 'utf8')).split('\n')).toContain('--stdin')
  })

  test('speaking is broken off', async () => {
    await bin({ 'espeak-ng': 'case "$1" in --version) exit 0;; esac; exec sleep 60' })
    const speech = await openSpeech(readSettings({}), () => {})
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    await speech.speak('a long story', controller.signal)
    expect(controller.signal.aborted).toBe(true)
  })

  test('else the endpoint, for the loudspeakers and the player', async () => {
    const folder = await bin({ 'espeak-ng': 'exit 1', play: 'cat > HERE/played' })
    const asked: unknown[] = []
    const url = await endpoint(({ url, headers }, body) => {
      asked.push([url, headers.authorization, JSON.parse(body.toString())])
      return { body: WAV }
    })
    const settings = readSettings({
      TOOLYARD_VOICE_SPEECH_URL: `${url}/`,
      TOOLYARD_VOICE_SPEECH_KEY: 'secret',
      TOOLYARD_VOICE_PLAYER: 'play -',
    })
    const published: Uint8Array[] = []
    const speech = await openSpeech(settings, (wav) => void published.push(wav))
    await speech.speak('It is on.', never)
    const request = { model: 'tts-1', voice: 'alloy', input: 'It is on.', response_format: 'wav' }
    expect(asked).toEqual([['/v1/audio/speech', 'Bearer secret', request]])
    expect(published.map((wav) => Buffer.from(wav).equals(WAV))).toEqual([true])
    expect((await readFile(join(folder, 'played'))).equals(WAV)).toBe(true)
  })

  test('else text only, and it says why', async () => {
    await bin({ 'espeak-ng': 'exit 1' })
    const speech = await openSpeech(readSettings({}), () => {})
    expect(speech.ready).toBe(false)
    expect(speech.description).toContain('text only')
    await speech.speak('nobody hears this', never)
  })

  test('an endpoint that fails says how, without its address', async () => {
    await bin({ 'espeak-ng': 'exit 1' })
    const url = await endpoint(() => ({ status: 500, body: '' }))
    const speech = await openSpeech(readSettings({ TOOLYARD_VOICE_SPEECH_URL: url }), () => {})
    await expect(speech.speak('x', never)).rejects.toThrow('the audio endpoint answered /audio/speech with status 500')
    const nobody = await openSpeech(readSettings({ TOOLYARD_VOICE_SPEECH_URL: 'http://127.0.0.1:1/v1' }), () => {})
    await expect(nobody.speak('x', never)).rejects.toThrow('the audio endpoint cannot be reached')
  })
})

describe('recognising', () => {
  test('by the endpoint', async () => {
    let form = ''
    const url = await endpoint(({ url }, body) => {
      form = `${url} ${body.toString('latin1')}`
      return { body: JSON.stringify({ text: 'turn on switch one' }) }
    })
    const recognise = recogniser(readSettings({ TOOLYARD_VOICE_TRANSCRIPTION_URL: url }))
    expect(await recognise(WAV, never)).toBe('turn on switch one')
    expect(form).toMatch(/^\/v1\/audio\/transcriptions /)
    expect(form).toContain('whisper-1')
    expect(form).toContain('filename="speech.wav"')
    expect(form).toContain('RIFF')
  })

  test('by a program, before the endpoint', async () => {
    await bin({ hear: 'test "$(head -c 4)" = RIFF && echo " turn on switch two "' })
    const recognise = recogniser(
      readSettings({
        TOOLYARD_VOICE_RECOGNISER: 'hear --wav',
        TOOLYARD_VOICE_TRANSCRIPTION_URL: 'http://127.0.0.1:1/v1',
      }),
    )
    expect(await recognise(WAV, never)).toBe('turn on switch two')
  })

  test.each([
    ['no recogniser', {}, WAV, 'there is no recogniser'],
    [
      'a program that is not there',
      { TOOLYARD_VOICE_RECOGNISER: 'no-such-program' },
      WAV,
      'no-such-program is not installed',
    ],
    ['a program that fails', { TOOLYARD_VOICE_RECOGNISER: 'false' }, WAV, 'false ended with 1'],
    ['no WAV', { TOOLYARD_VOICE_RECOGNISER: 'cat' }, Buffer.from('ID3'), 'it is no WAV'],
    ['too much', { TOOLYARD_VOICE_RECOGNISER: 'cat' }, Buffer.concat([WAV, Buffer.alloc(11_000_000)]), 'the most is'],
    ['a program that never stops printing', { TOOLYARD_VOICE_RECOGNISER: 'yes' }, WAV, 'yes printed more than'],
  ])('%s is said', async (_, env, wav, sentence) => {
    await expect(recogniser(readSettings(env))(wav, never)).rejects.toThrow(sentence)
  })
})
