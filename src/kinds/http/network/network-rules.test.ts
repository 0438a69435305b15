import { describe, expect, test } from 'vitest'
import type { HttpSettings } from '../definition/http-implementation.ts'
import { NetworkRules } from './network-rules.ts'

/** What a tool is told that has this URL and asks for another. */
const refusal = (asked: string, settings: HttpSettings = {}, domains?: readonly string[], own = HOME) =>
  new NetworkRules(settings).forTool(new URL(own), domains).refusal(new URL(asked))

const HOME = 'https://api.example.com/v1/things?limit=1'

describe('without allowed domains', () => {
  test('a tool reaches the host of its own URL, however it is written', () => {
    expect(refusal(HOME)).toBeUndefined()
    expect(refusal('http://API.example.com./other')).toBeUndefined()
    expect(refusal('https://bücher.example/', {}, undefined, 'https://xn--bcher-kva.example/')).toBeUndefined()
  })

  test('a tool reaches only its own host', () => {
    expect(refusal('https://files.example.com/1')).toBe(
      `The host 'files.example.com' was refused: without allowed_domains, a tool may only reach the host of its own URL, 'api.example.com'. If it is meant to reach both, set its implementation.allowed_domains to ["api.example.com", "files.example.com"].`,
    )
    expect(refusal('https://files.example.com/1', {}, ['api.example.com', 'files.example.com'])).toBeUndefined()
  })
})

describe('domains', () => {
  test("of the installation also apply to the tool's own host", () => {
    const settings = { allowed_domains: ['example.org'] }
    expect(refusal(HOME, settings)).toBe(
      `The host 'api.example.com' was refused: it is not in http.allowed_domains. If the tool is meant to reach it, add "api.example.com" there.`,
    )
    expect(refusal(HOME, { allowed_domains: ['example.org', 'api.example.com'] })).toBeUndefined()
    expect(refusal('https://example.org/', settings)).toBeUndefined()
  })

  test('of the tool narrow those of the installation: both must have the host', () => {
    const settings = { allowed_domains: ['*.example.com'] }
    expect(refusal('https://files.example.com/', settings)).toBeUndefined()
    expect(refusal('https://files.example.com/', settings, ['api.example.com'])).toBe(
      `The host 'files.example.com' was refused: it is not in the tool's implementation.allowed_domains. If the tool is meant to reach it, add "files.example.com" there.`,
    )
    expect(refusal('https://example.org/', settings, ['example.org'])).toContain('it is not in http.allowed_domains')
    expect(refusal('https://files.example.com/', settings, ['files.example.com'])).toBeUndefined()
  })

  test('that are an empty list let nothing through', () => {
    expect(refusal(HOME, { allowed_domains: [] })).toContain('it is not in http.allowed_domains')
    expect(refusal(HOME, {}, [])).toContain("it is not in the tool's implementation.allowed_domains")
  })

  test.each([
    ['api.example.com', 'api.example.com', true],
    ['api.example.com', 'x.api.example.com', false],
    ['api.example.com', 'xapi.example.com', false],
    ['api.example.com', 'api.example.com.evil.example', false],
    ['*.example.com', 'api.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'evilexample.com', false],
    ['*.example.com', 'example.com.evil.example', false],
    ['API.Example.COM.', 'api.example.com', true],
    ['*.EXAMPLE.com.', 'api.example.com.', true],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['*.xn--bcher-kva.example', 'api.BÜCHER.example', true],
    ['my_service.example.com', 'my_service.example.com', true],
    ['1.1.1.1', '1.1.1.1', true],
    ['1.1.1.1', '0x1010101', true],
    ['2606:4700:4700:0::1111', '[2606:4700:4700::1111]', true],
    ['[2606:4700:4700::1111]', '[2606:4700:4700::1112]', false],
  ])('"%s" and the host %s: %s', (entry, host, isAllowed) => {
    for (const said of [
      refusal(`https://${host}/`, { allowed_domains: [entry] }),
      refusal(`https://${host}/`, {}, [entry]),
    ]) {
      if (isAllowed) expect(said).toBeUndefined()
      else expect(said).toContain('was refused: it is not in ')
    }
  })

  test.each([
    ...['', '*', '*.', '*.*.com', 'a.*.com', '.example.com', 'a..example.com', 'https://example.com', 'example.com/x'],
    ...['example.com:443', 'user@example.com', 'a b.example', 'a%2eexample.com', '10.0.0.0/8', '*.10.0.0.1', '*.[::1]'],
    ...[
      '::1%lo',
      '1.2.3.256',
      `${'x'.repeat(64)}.com`,
      `${'x.'.repeat(127)}com`,
      'a\tb.com',
      'a\\b',
      'a?b',
      'a#b',
      '[::1',
    ],
  ])('rejects an entry that is not a host: %j', (entry) => {
    const sentence = `has ${JSON.stringify(entry)}, which is not a host name: write it like "api.example.com", or`
    expect(() => new NetworkRules({ allowed_domains: [entry] })).toThrow(`http.allowed_domains ${sentence}`)
    expect(() => refusal(HOME, {}, [entry])).toThrow(`implementation.allowed_domains ${sentence}`)
  })

  test('do not open addresses', () => {
    expect(refusal('http://127.0.0.1/', { allowed_domains: ['127.0.0.1'] }, ['127.0.0.1'])).toContain('loopback')
  })
})

describe('addresses in URLs', () => {
  test('pass after adding the suggested entry', () => {
    for (const host of ['10.1.2.3', '[fd12::1]', '[::ffff:10.1.2.3]', '169.254.169.254', '[64:ff9b::8.8.8.8]']) {
      const url = `http://${host}/`
      const [, add = ''] = /add "(.*)" to http.allow_private\.$/.exec(refusal(url, {}, undefined, url) ?? '') ?? []
      expect(refusal(url, { allow_private: [add] }, undefined, url)).toBeUndefined()
    }
  })

  test('are not opened for tools with another host', () => {
    expect(refusal('http://10.1.2.3/', { allow_private: ['10.0.0.0/8'] })).toContain(
      'only reach the host of its own URL',
    )
  })
})

describe('ports', () => {
  test.each(['http://api.example.com/', 'http://api.example.com:443/', 'https://api.example.com:80/'])(
    '80 and 443 pass: %s',
    (url) => expect(refusal(url)).toBeUndefined(),
  )

  test("the one of the tool's own URL passes, and no other", () => {
    const own = 'http://api.example.com:8080/'
    expect(refusal('http://api.example.com:8080/x', {}, undefined, own)).toBeUndefined()
    expect(refusal('https://api.example.com/', {}, undefined, own)).toBeUndefined()
    expect(refusal('http://api.example.com:8081/', {}, undefined, own)).toBe(
      `Port 8081 of the host 'api.example.com' was refused: a tool may use the ports 80 and 443, and the one in its own URL. If another is meant, write it in the tool's implementation.url.`,
    )
  })
})

describe('the form of a URL', () => {
  test('a user name alone is refused too, and not repeated', () => {
    const said = refusal('https://hunter2@api.example.com/')
    expect(said).toBe(
      "A URL of the host 'api.example.com' was refused: it contains a user name or a password. Write those in the tool's implementation.auth instead.",
    )
    expect(refusal('https://:hunter2@api.example.com/')).toBe(said)
  })

  test('nothing long is repeated', () => {
    for (const url of [`https://${'x'.repeat(5_000)}.com/`, `${'x'.repeat(5_000)}://api.example.com/`]) {
      expect(refusal(url)?.length).toBeLessThan(250)
    }
  })
})
