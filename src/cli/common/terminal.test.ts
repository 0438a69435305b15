import { PassThrough } from 'node:stream'
import { WriteStream } from 'node:tty'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTerminal, fitted, type Output, processIo } from './terminal.ts'

const stream = (isTTY: boolean) => {
  const { getColorDepth } = WriteStream.prototype
  return Object.assign(new PassThrough(), { isTTY, columns: 80, getColorDepth })
}
const open = (json: boolean, stdout: Output, stderr: Output) => createTerminal(json, { ...processIo(), stdout, stderr })
const written = (output: PassThrough): string => String(output.read() ?? '')

beforeEach(() => {
  vi.stubEnv('TERM', 'xterm-256color')
  for (const name of ['CI', 'NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined)
})
afterEach(() => vi.unstubAllEnvs())

test('colours are for terminals', () => {
  expect(open(false, stream(true), stream(false)).style('red', 'x')).toBe('\u001b[31mx\u001b[39m')
  expect(open(false, stream(true), stream(false)).styleNote('red', 'x')).toBe('x')
  expect(open(false, stream(false), stream(true)).style('red', 'x')).toBe('x')
})

test('NO_COLOR is honoured, and FORCE_COLOR puts none into a pipe', () => {
  vi.stubEnv('NO_COLOR', '1')
  expect(open(false, stream(true), stream(true)).style('red', 'x')).toBe('x')
  vi.stubEnv('NO_COLOR', undefined)
  vi.stubEnv('FORCE_COLOR', '3')
  expect(open(false, stream(false), stream(true)).style('red', 'x')).toBe('x')
})

test('writes results to stdout and notes to stderr', () => {
  const [stdout, stderr] = [stream(false), stream(false)]
  const terminal = open(false, stdout, stderr)
  terminal.result('a result')
  terminal.note('a note')
  expect([written(stdout), written(stderr)]).toEqual(['a result\n', 'a note\n'])
})

test('a document is one line in a pipe, and safe for a terminal everywhere', () => {
  const stdout = stream(false)
  open(true, stdout, stream(false)).document({ text: 'a\n\u009b\u202e', list: [1] })
  const text = written(stdout)
  expect(text).toBe('{"text":"a\\n\\u009b\\u202e","list":[1]}\n')
  expect(JSON.parse(text)).toEqual({ text: 'a\n\u009b\u202e', list: [1] })
})

test.each([
  ['short', 5, 'short'],
  ['get the weather', 10, 'get the…'],
  ['get the weather', 8, 'get the…'],
  ['get the weather', 7, 'get…'],
  ['unbreakable', 5, 'unbr…'],
])('fits %j into %i characters without cutting a word', (text, room, expected) => {
  expect(fitted(text, room)).toBe(expected)
})
