import { expect, test } from 'vitest'
import { readParameters } from './parameter.ts'
import { severalCalls } from './several-calls.ts'

const PARAMETERS = readParameters({
  type: 'object',
  properties: {
    artist: { type: 'string' },
    minutes: { type: 'integer' },
    state: { type: 'string', enum: ['on', 'off'] },
  },
})
const NOW = new Date(2026, 10, 16)

/** What the model reads if it marks these pieces for each parameter. */
function readingOf(said: string, marked: Readonly<Record<string, readonly string[]>>) {
  const words = [...said.matchAll(/[\p{L}\p{N}]+/gu)]
  const from = words.map(({ index }) => index)
  const to = words.map(({ index, 0: word }) => index + word.length)
  const none = words.map(() => -5)
  const parameter = (pieces: readonly string[]) => ({
    span: {
      from,
      to,
      start: none,
      end: none,
      inside: words.map(({ 0: word }) => (pieces.some((piece) => piece.split(' ').includes(word)) ? 5 : -5)),
      absent: 0,
    },
    mentioned: 5,
    options: [],
    none: 0,
  })
  return {
    relevance: 1,
    parameters: new Map(PARAMETERS.map(({ name }) => [name, parameter(marked[name] ?? [])])),
  }
}

test.each([
  [
    'play Nina Simone for 20 minutes and then Fela Kuti for 35 minutes',
    { artist: ['Nina Simone', 'Fela Kuti'], minutes: ['20', '35'] },
    { artist: 'Nina Simone', minutes: 20 },
    [
      { artist: 'Nina Simone', minutes: 20 },
      { artist: 'Fela Kuti', minutes: 35 },
    ],
  ],
  [
    'play Prince and Madonna, 15 minutes each',
    { artist: ['Prince', 'Madonna'], minutes: ['15'] },
    { artist: 'Prince', minutes: 15 },
    [
      { artist: 'Prince', minutes: 15 },
      { artist: 'Madonna', minutes: 15 },
    ],
  ],
  [
    'radio on and fan off',
    { artist: ['radio', 'fan'] },
    { artist: 'radio', state: 'on' },
    [
      { artist: 'radio', state: 'on' },
      { artist: 'fan', state: 'off' },
    ],
  ],
  [
    'play Prince, Madonna and Sade',
    { artist: ['Prince, Madonna', 'Prince', 'Madonna', 'Sade'] },
    { artist: 'Prince' },
    [{ artist: 'Prince' }, { artist: 'Madonna' }, { artist: 'Sade' }],
  ],
  ['play Prince, not Madonna', { artist: ['Prince', 'Madonna'] }, { artist: 'Prince' }, [{ artist: 'Prince' }]],
  [
    'play Prince, Madonna and Sade for 5 and 9 minutes',
    { artist: ['Prince', 'Madonna', 'Sade'], minutes: ['5', '9'] },
    { artist: 'Prince', minutes: 5 },
    [{ artist: 'Prince', minutes: 5 }],
  ],
])('"%s" makes the calls that belong together', async (said, marked, params, expected) => {
  expect(await severalCalls(params, PARAMETERS, readingOf(said, marked), said, NOW)).toEqual(expected)
})

test('a piece of another call is no further value', async () => {
  const said = 'play Prince and call Madonna'
  const reading = readingOf(said, { artist: ['Prince', 'Madonna'] })
  const taken = [{ from: said.indexOf('Madonna'), to: said.length }]
  expect(await severalCalls({ artist: 'Prince' }, PARAMETERS, reading, said, NOW)).toHaveLength(2)
  expect(await severalCalls({ artist: 'Prince' }, PARAMETERS, reading, said, NOW, taken)).toHaveLength(1)
})
