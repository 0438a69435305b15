import { expect, it } from 'vitest'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { NoiseReport } from './stdio-transport.ts'

it('reports twenty lines in ten seconds, then how many more there were', () => {
  const [log, clock] = [captureLog(), new ManualClock()]
  const report = new NoiseReport({ server: 'files', command: 'cat' }, log, undefined, clock)
  for (let n = 0; n < 25; n++) report.say('noise', `${n}`)
  expect(log.at('warn').map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`))
  clock.advance(10_000)
  report.say('noise', 'again')
  expect(log.lines.slice(20).map(({ message, fields }) => [message, fields])).toEqual([
    ['The MCP server wrote 5 more invalid lines, which are not shown', { server: 'files', command: 'cat' }],
    ['The MCP server wrote noise', { server: 'files', command: 'cat', text: 'again' }],
  ])
})

it('survives a listener that throws', () => {
  const log = captureLog()
  const fail = (): never => {
    throw new Error('deaf')
  }
  new NoiseReport({ server: 'files', command: 'cat' }, log, fail, new ManualClock()).say(
    'noise',
    '\u001b[1mBearer abcdefghijk\u001b[0m',
  )
  expect(log.at('warn')).toEqual([{ server: 'files', command: 'cat', text: '[redacted]' }])
})

it('says how long a line was if the log may not hold it', () => {
  const [log, clock] = [captureLog(), new ManualClock()]
  const seen: string[] = []
  let mayQuote = false
  const listener = (text: string): readonly string[] => {
    seen.push(text)
    return ['tell']
  }
  const report = new NoiseReport({ server: 'files' }, log, listener, clock, () => mayQuote)
  report.say('noise', 'told 4711', 9)
  report.say('a line of more than 5 bytes', 'told 4711')
  mayQuote = true
  report.say('noise', 'told 4711', 9)
  expect(log.at('warn')).toEqual([
    { server: 'files', calls: ['tell'], bytes: 9 },
    { server: 'files', calls: ['tell'] },
    { server: 'files', calls: ['tell'], text: 'told 4711' },
  ])
  expect(seen).toEqual(['told 4711', 'told 4711', 'told 4711'])
})
