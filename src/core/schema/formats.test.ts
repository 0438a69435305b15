import { describe, expect, it } from 'vitest'
import { FORMATS, hasFormat } from './formats.ts'

describe('formats', () => {
  it.each<[string, unknown, unknown]>([
    ['email', 'a@b.co', 'a@'],
    ['date', '2024-02-29', '2023-02-29'],
    ['time', '10:00:00Z', '10:00'],
    ['date-time', '2024-02-29T10:00:00+02:00', '2024-02-29'],
    ['duration', 'P1DT2H', 'P'],
    ['uri', 'https://example.com/x?y#z', 'x'],
    ['uri-reference', '../x', '\\'],
    ['uri-template', '/a/{b}', '/a/{'],
    ['url', 'http://10.0.0.1:80/x', 'http://'],
    ['url', 'https://example.com', 'mailto:a@b.co'],
    ['hostname', 'example.com', '-x'],
    ['ipv4', '10.0.0.1', '256.0.0.1'],
    ['ipv6', '::1', ':::'],
    ['uuid', '123e4567-e89b-12d3-a456-426614174000', '123'],
    ['regex', '^a$', '('],
    ['json-pointer', '/a/0', 'a'],
    ['byte', 'YQ==', 'YQ'],
    ['int32', 7, 2 ** 31],
    ['int64', 7, 7.5],
  ])('%s accepts %j and refuses %j', (name, good, bad) => {
    expect([hasFormat(good, name), hasFormat(bad, name)]).toEqual([true, false])
  })

  it('ignore values of other types and unknown formats', () => {
    expect([hasFormat(7, 'email'), hasFormat('x', 'int32'), hasFormat('x', 'mystery')]).toEqual([true, true, true])
  })

  it('do not hang on a megabyte of text', () => {
    // A check that takes time with the square of the length would take hours: only the test's timeout can end it.
    const texts = ['a', '1', 'a.', ':', '::', '/', '%41', '++', '(', '{a,', 'T', '@', 'http://a:', '\n'].flatMap(
      (part) => {
        const long = part.repeat(1_000_000 / part.length)
        return [`${long}\n`, `http://${long} `, `/${long}\n`, `a@${long}!`]
      },
    )
    for (const [name, { type, validate }] of FORMATS) {
      if (type === 'number') continue
      for (const text of texts) {
        expect([name, typeof (validate as (text: string) => boolean)(text)]).toEqual([name, 'boolean'])
      }
    }
  })
})
