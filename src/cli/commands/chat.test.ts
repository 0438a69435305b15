import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { CALCULATE, captureIo, emptyFolder, folder, mock, toolyard } from '../fixtures/toolyard.ts'
import { main } from '../main.ts'

afterAll(emptyFolder)

const rule = { llm: 'mini', model: 'v1', prompt: 'Be brief.', tools: { enabled: true } }

async function config(name: string, content: object): Promise<string> {
  const file = join(folder, `${name}.json`)
  await writeFile(
    file,
    JSON.stringify({ tools: { enabled: true, registry: [mock('get_weather', 'rain')] }, ...content }),
  )
  return file
}

/** The address of a provider that rejects every key. */
async function refusingProvider(): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(401).end('{"error":{"message":"bad key"}}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('chat', () => {
  test.each([
    ["What's the weather in Paris?", 'get_weather', { location: 'Paris' }, /22.*Paris/],
    ['Calculate 15% tip on $45', 'calculate', { expression: expect.any(String) }, /6\.75/],
    ["What's 2+2?", undefined, undefined, /4/],
  ])('answers %j on a machine without key or server', async (question, tool, params, answer) => {
    const { code, out } = await toolyard(['chat', question, '--json'])
    const { content, tool_calls, stop_reason } = JSON.parse(out)
    expect({ code, stop_reason }).toEqual({ code: 0, stop_reason: 'stop' })
    expect(content).toMatch(answer)
    expect(tool_calls).toEqual(
      tool === undefined ? [] : [{ tool, params, result: expect.objectContaining({ success: true }), iteration: 1 }],
    )
  })

  test('writes the answer on stdout and the calls on stderr', async () => {
    expect(await toolyard(['chat', 'What is 20% of 80?'])).toMatchObject({
      code: 0,
      out: '20% of 80 is 16.\n',
      err: expect.stringMatching(/^→ calculate \{"expression":"80 \* 0\.2"\} ✓ [\d.]+ ms\n$/),
    })
  })

  test('without response rules the first model answers, and without models the one in the box', async () => {
    const file = await config('no-rules', { tools: { enabled: true, registry: [CALCULATE] } })
    const { out } = await toolyard(['chat', 'What is 20% of 80?', '--config', file])
    expect(out).toBe('20% of 80 is 16.\n')
    const models = [{ id: 'office:m', name: 'M', capabilities: ['function-calling'] }]
    const providers = { office: { type: 'openai', base_url: await refusingProvider() } }
    const other = await config('other-model', { models, providers })
    const { code, err } = await toolyard(['chat', "What's 2+2?", '--config', other])
    expect([code, err]).toEqual([1, expect.stringContaining('office:m')])
  })

  test.each([
    [['chat', 'hi', '--model', 'nope:x'], 'Provider nope not found (known: mini)'],
    [['chat', 'hi', '--model', 'openia:gpt'], 'Did you mean openai? Then add a model of openai to models'],
    [['chat', 'hi', '--model', 'office:gpt'], 'openai, anthropic, gemini, google, ollama need no entry'],
    [['chat', 'hi', '--model', 'nope'], "Model 'nope' names no provider"],
    [['chat', ' '], 'The question is empty'],
    [['chat'], "Missing required argument 'message'"],
  ])('%j is wrong usage', async (args, message) => {
    const { code, out, err } = await toolyard(args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })

  test.each([
    ['openai:gpt', 'OPENAI_API_KEY is not set'],
    ['ollama:llama3.2:3b', 'ollama:llama3.2:3b'],
  ])('%s needs no entry in the configuration', async (model, said) => {
    const { code, err } = await toolyard(['chat', 'hi', '--model', model])
    expect([code, err]).toEqual([1, expect.stringContaining(said)])
    expect(err).not.toContain('not found')
  })

  test('without a rule that matches it says how to go on', async () => {
    const file = await config('no-rule', { responses: [{ ...rule, match: { service: 'x' } }] })
    const { code, err } = await toolyard(['chat', 'hi', '--config', file])
    expect([code, err]).toEqual([2, expect.stringMatching(/^No response rule matches\. .*--model/)])
  })

  test('a model that does not answer: the reason on stderr, and 1', async () => {
    const base_url = await refusingProvider()
    const file = await config('failing', { providers: { office: { type: 'openai', base_url, api_key: '${KEY}' } } })
    const args = ['chat', 'hi', '--model', 'office:m', '--config', file]
    const { code, out, err } = await toolyard(args, { env: { KEY: 'sk-secret' } })
    expect({ code, out }).toEqual({ code: 1, out: 'I encountered an issue processing your request.\n' })
    expect(err).toContain('office:m')
    expect(err).not.toMatch(/sk-secret|127\.0\.0\.1/)
    const json = await toolyard([...args, '--json'], { env: { KEY: 'sk-secret' } })
    expect(JSON.parse(json.out)).toMatchObject({ stop_reason: 'error', error: expect.stringContaining('office:m') })
  })

  test('streams the answer once on a terminal', async () => {
    const file = await config('watched', { tools: { enabled: true, registry: [CALCULATE] }, responses: [rule] })
    const { io, written } = captureIo({ watched: true })
    const write = vi.spyOn(io.stdout, 'write')
    expect(await main(['chat', 'What is 20% of 80?', '--config', file], io)).toBe(0)
    expect(write.mock.calls.length).toBeGreaterThan(3)
    expect(written.out).toBe('20% of 80 is 16.\n')
    expect(written.err).toMatch(/^→ calculate .*\nmini:v1\n$/)
  })
})
