import { expect, test } from 'vitest'
import type { OfferedTool } from '../base/port.ts'
import type { ToolReader } from '../engine/tool-reader.ts'
import { inWindows } from '../engine/tool-reader.ts'
import { answerTo } from './answer.ts'
import { smallTalk } from './conversation.ts'

/** Every word of the message may be the value of every parameter. */
const reader: ToolReader = inWindows({
  embed: async (texts) => texts.map(() => [1]),
  embedTools: async (texts) => new Map(texts.map((text) => [text, [1]])),
  read: async (questions) =>
    questions.map(({ said, tool: { parameters } }) => {
      const tokens = [...said.matchAll(/\p{L}+|\d|\S/gu)].slice(0, 160)
      const logits = tokens.map((_, at) => Math.sin(at * 7) * 8)
      const from = tokens.map(({ index }) => index)
      const to = tokens.map(({ index, 0: token }) => index + token.length)
      const span = { from, to, start: logits, end: logits.toReversed(), inside: logits, absent: 0 }
      return {
        relevance: 0.9,
        parameters: parameters.map(({ options }) => ({ span, mentioned: 1, options: options.map(() => 1), none: 0 })),
      }
    }),
})

function tool(count: number, property: object): OfferedTool {
  const properties = Object.fromEntries(Array.from({ length: count }, (_, at) => [`value_${at}`, property]))
  const parameters = { type: 'object', properties, required: Object.keys(properties) }
  return { name: 'calculate', description: 'Calculates something', parameters }
}

async function ask(content: string, ...tools: OfferedTool[]): Promise<void> {
  await answerTo([{ role: 'user', content }], {
    id: 'mini:v1',
    tools,
    reader,
    now: new Date('2026-11-16'),
    check: async () => [],
    search: async (all) => all,
  })
}

/** The processor time of a question, and how many turns the event loop got meanwhile. */
async function costOf(
  content: string,
  ...tools: OfferedTool[]
): Promise<{ readonly ms: number; readonly turns: number }> {
  let turns = 0
  let running = true
  const turn = (): void => {
    turns++
    if (running) setImmediate(turn)
  }
  setImmediate(turn)
  const before = process.threadCpuUsage()
  await ask(content, ...tools)
  running = false
  const { user, system } = process.threadCpuUsage(before)
  return { ms: (user + system) / 1_000, turns }
}

const FLOOR_MS = 40
const MOST_GROWTH = 3

/** Whether twice the text takes more than three times as long, and that four times in a row. */
async function grows(row: (length: number) => string, ...tools: OfferedTool[]): Promise<boolean> {
  await ask(row(100), ...tools)
  for (let round = 0; round < 4; round++) {
    const [short, long] = [await costOf(row(1_900), ...tools), await costOf(row(3_800), ...tools)]
    if (long.ms <= Math.max(FLOOR_MS, MOST_GROWTH * short.ms)) return false
  }
  return true
}

const rows = [
  ' ',
  '\n',
  '1 ',
  '1,',
  'one ',
  '!',
  '.',
  '_',
  '-',
  '"a" ',
  "'a ",
  '“',
  '👍',
  'of ',
  'equal to ',
  'and ',
  'please ',
  '$5 ',
  '/a',
  'a@',
]
const rowOf = (start: string, unit: string) => (length: number) => `${start}${unit.repeat(length / unit.length)}x`

test.each(rows)(
  'a message that ends in a row of %j takes time in proportion to its length',
  { timeout: 60_000 },
  async (unit) => {
    const integers = tool(20, { type: 'integer', description: 'a number' })
    const texts = tool(20, { type: 'string', description: 'a text' })
    expect(await grows(rowOf('ok', unit), integers)).toBe(false)
    expect(await grows(rowOf('calculate value 0 of ', unit), integers)).toBe(false)
    expect(await grows(rowOf('calculate ', unit), texts)).toBe(false)
  },
)

test('small talk that ends in spaces and something else is none', () => {
  expect(smallTalk(`ok${' '.repeat(3_990)}x`)).toBeUndefined()
  expect(smallTalk(`${'👍'.repeat(2_000)}x`)).toBeUndefined()
  expect(smallTalk(`ok 👍${' '.repeat(100)}🎉 !`)).toContain('All right')
})

test('the event loop gets turns while many parameters are looked for', async () => {
  const dates = tool(40, { type: 'string', format: 'date' })
  await ask('calculate 5 May', dates)
  const { ms, turns } = await costOf(`calculate ${'1 '.repeat(500)}`, dates)
  // A slice is 8 ms; without slices there are a few turns, however long it takes.
  expect(turns).toBeGreaterThan(ms / 80)
  expect(turns).toBeGreaterThan(5)
})

test('200 parameters take no longer than 40: no more are looked at', async () => {
  const asked: number[] = []
  const counting: ToolReader = {
    ...reader,
    read: async (questions, signal) => {
      asked.push(...questions.map(({ tool }) => tool.parameters.length))
      return reader.read(questions, signal)
    },
  }
  for (const count of [40, 200]) {
    const tools = [tool(count, { type: 'integer' })]
    await answerTo([{ role: 'user', content: 'calculate 1 2 3' }], {
      id: 'mini:v1',
      tools,
      reader: counting,
      now: new Date(),
      check: async () => [],
      search: async (all) => all,
    })
  }
  expect(Math.max(...asked)).toBe(40)
})

test('objects in objects and long enums are read up to a limit', async () => {
  const asked: number[] = []
  const counting: ToolReader = {
    ...reader,
    read: async (questions, signal) => {
      asked.push(...questions.map(({ tool }) => tool.parameters.length))
      return reader.read(questions, signal)
    },
  }
  const inner = tool(40, { type: 'object', properties: tool(40, { type: 'integer' }).parameters.properties }).parameters
  const wide = tool(40, { type: 'string', enum: Array.from({ length: 100 }, (_, at) => `option ${at}`) })
  for (const one of [tool(40, inner), wide]) {
    await answerTo([{ role: 'user', content: 'calculate 1 2 3' }], {
      id: 'mini:v1',
      tools: [one],
      reader: counting,
      now: new Date(),
      check: async () => [],
      search: async (all) => all,
    })
  }
  expect(asked.reduce((sum, count) => sum + count, 0)).toBeLessThan(1_500)
})

test('of many tools, those that share words with the message are compared first, and none is left out', async () => {
  const compared: (readonly string[])[] = []
  const counting: ToolReader = {
    ...reader,
    embedTools: async (texts) => {
      compared.push(texts)
      return new Map()
    },
  }
  const parameters = { type: 'object' }
  const many = Array.from({ length: 40 }, (_, at) => ({ name: `noise_${at}`, description: 'Does nothing', parameters }))
  const tools = [...many, { name: 'set_light', description: 'Switch a light', parameters }]
  const talk = {
    id: 'mini:v1',
    tools,
    reader: counting,
    now: new Date(),
    check: async () => [],
    search: async (all: readonly OfferedTool[]) => all.slice(-1),
  }
  await answerTo([{ role: 'user', content: 'turn on the porch lights' }], talk)
  expect(compared[0]?.[0]).toBe('set light. Switch a light')
  expect(compared[0]).toHaveLength(41)
})
