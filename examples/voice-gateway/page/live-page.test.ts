import { request } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPage } from './live-page.ts'

async function page() {
  const said: string[] = []
  let devices = ['switch one is off']
  const live = await startPage({ state: () => ({ devices }), say: (text) => void said.push(text) })
  onTestFinished(() => live.close())
  const change = (now: string[]) => {
    devices = now
    live.refresh()
  }
  return { live, said, change }
}

const json = { 'Content-Type': 'application/json' }
const say = (url: string, headers: Record<string, string>, body = '{"text":"turn on switch one"}') =>
  fetch(`${url}say`, { method: 'POST', headers, body })

/** A request under another name, as a page elsewhere would make it by way of DNS. */
function asHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { Host: host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.once('error', reject)
    sent.end()
  })
}

describe('the live page', () => {
  test('is served whole, and runs and loads nothing but itself', async () => {
    const { live } = await page()
    const response = await fetch(live.url)
    const html = await response.text()
    expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'sha256-[^']+';/)
    expect(html).not.toMatch(/https?:\/\//)
    expect(html).toContain('aria-live="polite"')
  })

  test('tells what is heard, answered and changed', async () => {
    const { live, change } = await page()
    const controller = new AbortController()
    onTestFinished(() => controller.abort())
    const response = await fetch(`${live.url}events`, { signal: controller.signal })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    const until = async (text: string) => {
      while (!seen.includes(text)) seen += (await reader?.read())?.value ?? ''
    }
    await until('switch one is off')
    live.tell('heard', { text: 'turn on switch one' })
    change(['switch one is on'])
    await until('switch one is on')
    expect(seen).toContain('event: heard\ndata: {"text":"turn on switch one"}\n\n')
  })

  test('takes what is typed there', async () => {
    const { live, said } = await page()
    expect((await say(live.url, json)).status).toBe(204)
    expect((await say(live.url, { ...json, Origin: live.url.slice(0, -1) })).status).toBe(204)
    expect(said).toEqual(['turn on switch one', 'turn on switch one'])
  })

  test('other pages, other names and what is no text get nothing done', async () => {
    const { live, said } = await page()
    const refused = await Promise.all([
      say(live.url, { ...json, Origin: 'https://evil.example' }),
      say(live.url, { ...json, Origin: 'null' }),
      say(live.url, { 'Content-Type': 'text/plain' }),
      say(live.url, json, '{"text": 1}'),
      say(live.url, json, 'null'),
      say(live.url, json, JSON.stringify({ text: 'x'.repeat(20_000) })),
      fetch(`${live.url}../../etc/passwd`),
    ])
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 415, 400, 400, 413, 404])
    expect(await asHost(live.url, 'evil.example')).toBe(403)
    expect(said).toEqual([])
  })
})
