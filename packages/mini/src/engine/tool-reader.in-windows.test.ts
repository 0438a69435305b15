import { expect, test } from 'vitest'
import type { ToolReader } from './tool-reader.ts'
import { inWindows, windowsOf } from './tool-reader.ts'

/** Marks the word "Lisbon" in the part of the message that the model can read. */
const findsLisbon: ToolReader = {
  embed: async (texts) => texts.map(({ length }) => [length]),
  embedTools: async () => new Map(),
  read: async (questions) =>
    questions.map(({ said }) => {
      const at = said.slice(0, 600).indexOf('Lisbon')
      const found = at < 0 ? -9 : 9
      const place = Math.max(at, 0)
      const span = { from: [place], to: [place + 6], start: [found], end: [found], inside: [found], absent: 2 }
      return { relevance: at < 0 ? 0.1 : 0.9, parameters: [{ span, mentioned: found, options: [], none: 0 }] }
    }),
}
const tool = { head: 'get weather.', parameters: [{ text: 'location', required: true, options: [] }] }

test('finds a value far back in a long message, and its place', async () => {
  const said = `${'I had a long day and a lot to do. '.repeat(30)}What is the weather in Lisbon?`
  const [reading] = await inWindows(findsLisbon).read([{ tool, said }])
  const { span, mentioned } = reading?.parameters[0] ?? { span: undefined, mentioned: 0 }
  const best = span?.start.findIndex((logit) => logit > 0) ?? -1
  expect(reading?.relevance).toBe(0.9)
  expect(said.slice(span?.from[best], span?.to[best])).toBe('Lisbon')
  expect([span?.absent, mentioned]).toEqual([0, 9])
})

test('embeds the start and the end of a long message', async () => {
  expect(await inWindows(findsLisbon).embed(['turn on the lamp', 'x'.repeat(10_000)])).toEqual([[16], [281]])
})

test('reads a short message as it is, and a long one in a few overlapping pieces', () => {
  expect(windowsOf('in Lisbon')).toEqual([{ from: 0, text: 'in Lisbon' }])
  const windows = windowsOf('One sentence here. '.repeat(500))
  expect(windows).toHaveLength(3)
  for (const [at, { from }] of windows.entries()) {
    if (at > 0) expect(from).toBeLessThan((windows[at - 1]?.from ?? 0) + 561)
  }
  expect(windowsOf('x'.repeat(1_000_000))).toHaveLength(3)
})
