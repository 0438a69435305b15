import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SCORES } from '@toolyard/mini'
import { describe, expect, onTestFinished, test } from 'vitest'
import { everydayCases, readEveryday } from '../bench/mini/everyday.ts'
import { mergeScores, scoresTable } from '../bench/mini/scores.ts'
import { writeScores } from '../bench/mini/write-scores.ts'
import type { CategoryScore } from '../src/models/model-scores.ts'
import { readScores } from '../src/models/model-scores.ts'
import type { FailureKind, ObservedCall } from '../src/validation/suites/suite.ts'

const row = (name: string, more: Partial<CategoryScore> = {}): CategoryScore => ({
  name,
  own: false,
  call_wanted: true,
  cases: 400,
  right: 273,
  wrong: { 'no call': 27, 'wrong value': 100 },
  measured: '2026-11-16',
  ...more,
})

const namesAndRight = ({ categories }: { categories: readonly CategoryScore[] }) =>
  categories.map(({ name, right }) => [name, right])

const START = '<!-- written by node bench/mini/score.ts --write: start -->'
const END = '<!-- written by node bench/mini/score.ts --write: end -->'

/** A page and a file of scores of their own, to be written. */
async function papers(page: string, scores?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-scores-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const at = (name: string) => pathToFileURL(join(folder, name))
  await writeFile(at('page.md'), page)
  if (scores !== undefined) await writeFile(at('scores.json'), scores)
  return {
    write: (...rows: CategoryScore[]) => writeScores(rows, at('scores.json'), at('page.md')),
    scores: () => readScores(at('scores.json')),
    text: (name: 'page.md' | 'scores.json') => readFile(at(name), 'utf8'),
  }
}

describe('scores that are measured anew', () => {
  test('take the place of those of the same name, and new ones come last', () => {
    const known = { rules: 'BFCL v4', categories: [row('one'), row('two'), row('three')] }
    const merged = mergeScores(known, [row('four', { right: 4 }), row('two', { right: 2 })])
    expect(merged.rules).toBe('BFCL v4')
    expect(namesAndRight(merged)).toEqual([
      ['one', 273],
      ['two', 2],
      ['three', 273],
      ['four', 4],
    ])
  })

  test('are the first where there are none', () => {
    expect(namesAndRight(mergeScores(undefined, [row('one')]))).toEqual([['one', 273]])
  })

  test('are written into the file and between the markers; the rest of both stays', async () => {
    const { write, scores, text } = await papers(`before\n\n${START}\n\nan older table\n\n${END}\n\nafter\n`)
    await write(row('one'), row('two'))
    await write(row('two', { right: 400, wrong: {}, measured: '2026-11-17' }))
    expect((await scores())?.categories).toEqual([
      row('one'),
      row('two', { right: 400, wrong: {}, measured: '2026-11-17' }),
    ])
    const table = scoresTable((await scores()) ?? { rules: '', categories: [] })
    expect(await text('page.md')).toBe(`before\n\n${START}\n\n${table}\n\n${END}\n\nafter\n`)
  })

  test.each([
    ['a page without markers', ['a page'], 'has lost its markers'],
    ['a damaged file', [`${START}\n${END}`, '{"rules": '], 'is damaged: repair it'],
  ] as const)('change nothing where there is %s', async (_, [page, damaged], sentence) => {
    const { write, text } = await papers(page, damaged)
    await expect(write(row('one'))).rejects.toThrow(sentence)
    expect(await text('page.md')).toBe(page)
    if (damaged === undefined) await expect(text('scores.json')).rejects.toThrow('ENOENT')
    else expect(await text('scores.json')).toBe(damaged)
  })
})

test('the table says what is right, the most frequent mistake first, and whose requests they are', () => {
  const nothing = row('no', { own: true, call_wanted: false, cases: 28, right: 28, wrong: {} })
  const lines = scoresTable({ rules: 'BFCL v4', categories: [row('one'), row('own', { own: true }), nothing] })
  expect(lines.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))).toEqual([
    ['', 'category', 'cases', 'right', 'wrong', 'measured', ''],
    expect.anything(),
    ['', 'one', '400', '68.3 %', 'wrong value 100, no call 27', '2026-11-16', ''],
    ['', 'own (requests of our own)', '400', '68.3 %', 'wrong value 100, no call 27', '2026-11-16', ''],
    ['', 'no (requests of our own, no call is right)', '28', '100.0 %', '', '2026-11-16', ''],
  ])
})

test('docs/guides/mini.md shows packages/mini/scores.json as it is', async () => {
  const page = await readFile(new URL('../docs/guides/mini.md', import.meta.url), 'utf8')
  const scores = await readScores(SCORES)
  expect(page).toContain(`${START}\n\n${scores && scoresTable(scores)}\n\n${END}`)
})

describe('the everyday sentences', () => {
  interface Parameters {
    readonly properties?: Readonly<Record<string, { readonly enum?: readonly unknown[] }>>
    readonly required?: readonly string[]
  }

  async function load(half: 'even' | 'odd') {
    const { cases, close } = await everydayCases(half)
    onTestFinished(close)
    return cases
  }

  test('are 150 different ones, and every second is unseen', async () => {
    const written = readEveryday()
    expect(new Set(written.map(({ said }) => said)).size).toBe(150)
    const numbers = (cases: Awaited<ReturnType<typeof load>>) => cases.map(({ id }) => Number(id.split('-')[1]))
    const [even, odd] = [numbers(await load('even')), numbers(await load('odd'))]
    expect([even.length, even.every((one) => one % 2 === 0)]).toEqual([75, true])
    expect([odd.length, odd.every((one) => one % 2 === 1)]).toEqual([75, true])
  })

  test('expect only calls that the shipped tools accept', async () => {
    const [first] = await load('even')
    const tools = new Map(first?.tools.map(({ name, parameters }) => [name, parameters as Parameters]))
    for (const { said, calls } of readEveryday()) {
      for (const call of calls) {
        const about = `${said}: ${call.tool}`
        const { properties = {}, required = [] } = tools.get(call.tool) ?? {}
        if ('result' in call) {
          expect(['calculate', 'datetime', 'string'], about).toContain(call.tool)
          expect(call.result.length, about).toBeGreaterThan(0)
          continue
        }
        expect(Object.keys(properties), about).toEqual(expect.arrayContaining(Object.keys(call.params)))
        expect(Object.keys(call.params), about).toEqual(expect.arrayContaining([...required]))
        for (const [name, values] of Object.entries(call.params)) {
          const options = properties[name]?.enum
          if (options !== undefined)
            expect(['', ...options], `${about} ${name}`).toEqual(expect.arrayContaining([...values]))
        }
      }
    }
  })

  const reverse = { tool: 'string', params: { operation: 'reverse', text: 'banana' } }
  const light = (name: string, state: string) => ({ tool: 'set_light', params: { light: name, state } })
  const days = { tool: 'datetime', params: { operation: 'diff', from: 'now', to: '2027-02-14' } }
  const search = { tool: 'search_documents', params: { query: 'Rate limits of tools' } }
  test.each<[string, ObservedCall[], true | FailureKind]>([
    ['spell banana backwards', [reverse], true],
    ['spell banana backwards', [{ ...reverse, params: { ...reverse.params, text: 'bananas' } }], 'wrong_value'],
    ['spell banana backwards', [{ ...reverse, params: { text: 'banana' } }], 'wrong_value'],
    ['spell banana backwards', [light('hall', 'on')], 'wrong_tool'],
    ["How many days are left until Valentine's Day?", [days], true],
    [
      "How many days are left until Valentine's Day?",
      [{ ...days, params: { ...days.params, unit: 'weeks' } }],
      'wrong_value',
    ],
    ['Hall light off, and the garden one as well', [light('garden', 'off'), light('hall', 'off')], true],
    ['Hall light off, and the garden one as well', [light('garden', 'on'), light('hall', 'off')], 'wrong_value'],
    ['Hall light off, and the garden one as well', [light('hall', 'off')], 'wrong_count'],
    ['Search the docs for rate limits', [search], true],
    ['Search the docs for rate limits', [{ ...search, params: { query: 'limits' } }], 'wrong_value'],
    ['lol', [], true],
    ['lol', [light('hall', 'on')], 'unwanted_call'],
  ])('are judged by the values or the result: %s %j', async (said, calls, outcome) => {
    const cases = await load('even')
    const one = cases.find(({ turns }) => turns[0]?.[0]?.content === said)
    const verdict = await one?.judge([{ calls, answer: '' }])
    expect(verdict?.passed || verdict?.kind).toBe(outcome)
  })
})
