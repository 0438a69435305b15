import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeText } from './read-document.ts'

const decode = (bytes: Uint8Array, declared?: string) => decodeText(bytes, 'a.txt', declared)
const hex = (digits: string) => Buffer.from(digits.replaceAll(' ', ''), 'hex')
const latin = (text: string) => Buffer.from(text, 'latin1')

test.each([
  ['UTF-8', Buffer.from('Grüße, 世界 😀'), 'Grüße, 世界 😀'],
  ['UTF-8 with a mark', Buffer.from('\ufeffGrüße'), 'Grüße'],
  ['UTF-16 with a mark', Buffer.from('\ufeffGrüße', 'utf16le'), 'Grüße'],
  ['UTF-16 the other way round', Buffer.from('\ufeffGrüße', 'utf16le').swap16(), 'Grüße'],
  ['UTF-16 without a mark', Buffer.from('Hello, Grüße', 'utf16le'), 'Hello, Grüße'],
  ['UTF-16 the other way round, without a mark', Buffer.from('Hello, Grüße', 'utf16le').swap16(), 'Hello, Grüße'],
  ['windows-1252', latin('Das Caf\xe9 in M\xfcnchen \x96 au\xdfer sonntags.'), 'Das Café in München – außer sonntags.'],
  ['a few letters of windows-1252', latin('caf\xe9'), 'café'],
  ['windows-1251', hex('cff0e8e2e5f22c20ece8f02120fdf2ee20f2e5eaf1f2'), 'Привет, мир! это текст'],
  ['Shift_JIS', hex('82b182ea82cd93fa967b8cea82cc83658368835882c582b78142'), 'これは日本語のテドスです。'],
  ['ISO-2022-JP', latin('\x1b$BF|K\\8l\x1b(B'), '日本語'],
  ['nothing', new Uint8Array(), ''],
])('decodes %s', (_, bytes, text) => {
  expect(decode(bytes)).toEqual({ text, replaced: 0 })
})

test('detects the encoding of late non-ASCII characters', () => {
  const bytes = Buffer.concat([Buffer.alloc(300_000, 'plain words '), latin('Caf\xe9 M\xfcnchen')])
  expect(decode(bytes).text.endsWith('Café München')).toBe(true)
  const russian = 'Привет, мир! Это обычный русский текст, и он стоит в самом конце.'
  const end = Uint8Array.from(russian, (letter) => {
    const code = letter.charCodeAt(0)
    return code < 0x80 ? code : code - 0x410 + 0xc0
  })
  expect(decode(Buffer.concat([Buffer.alloc(300_000, 'plain words '), end])).text.endsWith(russian)).toBe(true)
})

test('uses the declared encoding if the text is not UTF-8', () => {
  const bytes = hex('d0d2c9d7c5d4')
  expect(decode(bytes, 'koi8-r').text).toBe('привет')
  expect(decode(Buffer.from('привет'), 'koi8-r').text).toBe('привет')
  expect(() => decode(bytes, 'no-such-encoding')).not.toThrow()
})

test('replaces and counts invalid UTF-8 bytes', () => {
  const text = 'Ein längerer Text mit Umlauten: äöü ÄÖÜ ß. '.repeat(20)
  const { text: read, replaced } = decode(Buffer.concat([Buffer.from(text), latin('\xff\xfe end')]))
  expect(read).toBe(`${text}\ufffd\ufffd end`)
  expect(replaced).toBe(2)
})

test.each([
  ['NUL bytes', Buffer.from('text\0text'), 'contains NUL bytes'],
  ['random bytes', Buffer.from(randomBytes(5000)), 'cannot be read'],
  ['random bytes without NUL', Buffer.from(randomBytes(5000).map((byte) => byte || 1)), 'looks like binary data'],
  ['UTF-32', hex('fffe0000 41000000'), 'UTF-32; save it as UTF-8'],
  ['UTF-16 that is none', hex('fffe 00d8 00d8 00d8 00d8'), 'looks like binary data'],
])('rejects %s', (_, bytes, message) => {
  expect(() => decode(bytes)).toThrow(
    expect.objectContaining({ name: 'UnreadableDocument', message: expect.stringContaining(message) }),
  )
})
