import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../core/tool.ts'
import { dataSetsFolder } from './bfcl/bfcl-category.ts'
import { loadSuite } from './load-suite.ts'
import { SuiteError } from './suites/suite.ts'

const definitions: ToolDefinition[] = ['weather', 'mail'].map((name) => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  implementation: { type: 'http', url: 'https://example.com/pay' },
  permissions: ['admin'],
}))
const call = { calls: [{ tool: 'weather', params: { text: 'Paris' } }] }

describe('a suite in a file', () => {
  let folder = ''
  const load = async (name: string, content: unknown) => {
    const file = join(folder, name)
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
    return loadSuite(file, { definitions })
  }
  const problem = (content: unknown, name = 'suite.json') =>
    load(name, content).then(
      () => 'loaded',
      (error: unknown) => {
        expect(error).toBeInstanceOf(SuiteError)
        return (error as Error).message.replaceAll(`${folder}/`, '')
      },
    )

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolyard-suite-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('compares a bounded number of names', async () => {
    const long = (end: string) => `${'x'.repeat(90)}${end}`
    const tools = Array.from({ length: 100 }, (_none, at) => ({
      ...{ name: long(`a${at}`), description: 'One', parameters: { type: 'object' } },
    }))
    const mocks = Object.fromEntries(Array.from({ length: 100 }, (_none, at) => [long(`b${at}`), 1]))
    const text = await problem([{ query: 'Hello', tools, mocks, expect: { no_call: true } }])
    expect(text).toContain('and 80 more')
    expect(text.split('did you mean').length - 1).toBeLessThan(5)
  })

  test('may be a list, an object with a name, or JSON Lines', async () => {
    const one = { id: 'a', query: 'Weather?', expect: call }
    const two = { query: 'Hello', expect: { no_call: true } }
    const list = await load('suite.json', [one, two])
    expect(list).toMatchObject({ name: 'suite.json', cases: [{ id: 'a' }, { id: 'case 2' }] })
    expect(await load('b.json', { name: 'Mine', remark: 'Old.', cases: [one] })).toMatchObject({
      name: 'Mine',
      remark: 'Old.',
    })
    const lines = await load('c.jsonl', `\uFEFF${JSON.stringify(one)}\r\n\n${JSON.stringify(two)}\n`)
    expect(lines.cases.map(({ id }) => id)).toEqual(['a', 'case 2'])
  })

  test('offers every tool unless it names some, always as mocks', async () => {
    const whole = { name: 'own', description: 'Mine.', parameters: { type: 'object' } }
    const messages = [{ role: 'system', content: 'Be brief.' }]
    const { cases } = await load('suite.json', [
      { query: 'Weather?', messages, expect: call, mocks: { weather: { sun: true } } },
      { query: 'Mine?', tools: ['mail', whole], expect: { calls: [{ tool: 'own' }] } },
    ])
    expect(cases[0]?.tools.map(({ name }) => name)).toEqual(['weather', 'mail'])
    expect(cases[0]?.tools[0]).toEqual({
      name: 'weather',
      description: 'The tool weather.',
      parameters: definitions[0]?.parameters,
      implementation: { type: 'mock', mock_response: { ok: true } },
    })
    expect(cases[0]).toMatchObject({
      turns: [[...messages, { role: 'user', content: 'Weather?' }]],
      mocks: { weather: { sun: true } },
      about: ['weather'],
      max_iterations: 1,
    })
    expect(cases[1]?.tools.map(({ name }) => name)).toEqual(['mail', 'own'])
  })

  test('sets the iterations of a case, and the tools it counts for', async () => {
    const cases = [
      { query: 'a', expect: { calls: [{ tool: 'mail' }, { tool: 'weather' }, { tool: 'mail' }] } },
      { query: 'b', expect: { ...call, answer_matches: '/sun/' } },
      { query: 'c', expect: { forbidden: ['mail'] } },
      { query: 'd', expect: { no_call: true } },
      { query: 'e', tools: ['mail'], expect: { no_call: true } },
    ]
    const suite = await load('suite.json', cases)
    expect(suite.cases.map(({ max_iterations }) => max_iterations)).toEqual([3, 5, 5, 1, 1])
    expect(suite.cases.map(({ about }) => about)).toEqual([['mail', 'weather'], ['weather'], ['mail'], [], ['mail']])
  })

  test('judges a turn, also one without calls', async () => {
    const { cases } = await load('suite.json', [{ query: 'Weather?', expect: call }])
    const calls = [{ tool: 'weather', params: { text: 'Paris' } }]
    expect(cases[0]?.judge([{ calls, answer: '' }])).toEqual({ passed: true })
    expect(cases[0]?.judge([])).toMatchObject({ kind: 'wrong_count' })
  })

  test('repeats a case with `repeat`', async () => {
    const { cases } = await load('suite.json', [{ id: 'a', query: 'Hello', expect: { no_call: true }, repeat: 3 }])
    expect(cases.map(({ id }) => id)).toEqual(['a', 'a#2', 'a#3'])
  })

  test.each<[string, unknown, string]>([
    ['no JSON', '[{]', 'suite.json: invalid JSON: '],
    [
      'another thing than cases',
      '{"casses": []}',
      "suite.json: missing 'cases': add it. unknown key 'casses': did you mean 'cases'?",
    ],
    ['no case', [], 'suite.json: it has no cases: add one.'],
    ['no query', [{ expect: call }], "suite.json:2 (case 1): missing 'query': add it."],
    [
      'a key that is none',
      [{ id: 'a', query: 'q', expect: { ...call, forbiden: ['mail'] } }],
      "suite.json:2 (a): unknown key 'expect.forbiden': did you mean 'forbidden'?",
    ],
    [
      'a key of another place',
      [{ id: 'a', query: 'q', expect: call, name: 'x' }],
      "suite.json:2 (a): unknown key 'name': remove it.",
    ],
    [
      'nothing expected',
      [{ query: 'q', expect: {} }],
      'expect must have at least 1 entry: state the expectation, such as',
    ],
    ['a wrong type', [{ query: 'q', expect: call, repeat: 'often' }], 'repeat must be an integer, but is "often".'],
    ['too many repeats', [{ query: 'q', expect: call, repeat: 101 }], 'repeat must be at most 100, but is 101.'],
    [
      'an order that is none',
      [{ query: 'q', expect: { ...call, order: 'some' } }],
      'expect.order must be one of: any, given',
    ],
    ['calls and no call', [{ query: 'q', expect: { ...call, no_call: true } }], 'expect has both calls and no_call'],
    [
      'a call that is forbidden',
      [{ query: 'q', expect: { ...call, forbidden: ['weather'] } }],
      'expect.forbidden names "weather"',
    ],
    [
      'a tool that is not registered',
      [{ query: 'q', tools: ['wether'], expect: { no_call: true } }],
      "tools[0] names \"wether\", which isn't registered: did you mean 'weather'?",
    ],
    [
      'a call of a tool that is not offered',
      [{ query: 'q', tools: ['mail'], expect: call }],
      'expect.calls[0].tool names "weather", which the case doesn\'t offer: use one of the offered tools (mail).',
    ],
    [
      'a mock of no tool',
      [{ query: 'q', expect: call, mocks: { pay: 1 } }],
      'mocks names "pay", which the case doesn\'t offer',
    ],
    ['a tool twice', [{ query: 'q', tools: ['mail', 'mail'], expect: { no_call: true } }], 'tools[1] is "mail" again'],
    [
      'a tool without schema',
      [{ query: 'q', tools: [{ name: 'x', description: 'x' }], expect: { no_call: true } }],
      "missing 'tools[0].parameters'",
    ],
    [
      'a pattern that is none',
      [{ query: 'q', expect: { answer_matches: 'sunny' } }],
      `expect.answer_matches "sunny" isn't a regular expression: write it as "/sunny/i".`,
    ],
    [
      'a matcher that is none',
      [{ query: 'q', expect: { calls: [{ tool: 'mail', params: { text: { $mathces: '/a/' } } }] } }],
      "expect.calls[0].params.text has the unknown matcher '$mathces': did you mean '$matches'?",
    ],
    [
      'an id twice',
      [
        { id: 'a', query: 'q', expect: { no_call: true } },
        { id: 'a', query: 'q', expect: { no_call: true } },
      ],
      'suite.json:9 (a): the id "a" is already used at suite.json:2: choose another.',
    ],
  ])('is rejected with %s, naming file, line, path, value and fix', async (_what, content, message) => {
    expect((await problem(content)).replaceAll(/\/\S+\/(?=suite\.json)/g, '')).toContain(message)
  })

  test('lists all problems at once, by line', async () => {
    const bad = '{"query": 1, "expect": {"no_call": true}}'
    expect(await problem(`${bad}\n\n${bad}`, 'suite.jsonl')).toBe(
      'suite.jsonl:1 (case 1): query must be a string, but is 1.\nsuite.jsonl:3 (case 2): query must be a string, but is 1.',
    )
    expect(await problem(`${bad}\n`.repeat(25), 'suite.jsonl')).toMatch(/and 5 more$/)
  })

  test('finds the lines of cases in an object, whatever their strings contain', async () => {
    const cases = [
      { query: 'a\n]},{"[\\', expect: { no_call: true } },
      { query: 5, expect: { no_call: true } },
    ]
    expect(await problem({ name: 'x [{', cases })).toContain('suite.json:10 (case 2): query must be a string')
  })

  test('rejects a large file, too many cases, a folder and a missing file', async () => {
    const one = '{"query":"q","expect":{"no_call":true}}\n'
    expect(await problem(one.repeat(10_001), 'many.jsonl')).toContain(
      'it has 10001 cases, but at most 10000 are allowed',
    )
    const large = join(folder, 'large.json')
    await writeFile(large, '')
    await truncate(large, 16 * 1024 * 1024 + 1)
    await expect(loadSuite(large, { definitions })).rejects.toThrow('at most 16 MB are allowed: split it.')
    await expect(loadSuite(folder, { definitions })).rejects.toThrow("isn't a file: use a file with cases")
    await expect(loadSuite('nothing.json', { definitions })).rejects.toThrow(
      'There is no suite or file "nothing.json": use a file with cases, bfcl:simple or generated.',
    )
  })
})

describe('a suite by name', () => {
  test('`generated` is made from the registered tools', async () => {
    const { name, cases } = await loadSuite('generated', { definitions })
    expect(name).toBe('generated')
    expect(cases.map(({ id }) => id)).toContain('weather/simple')
    await expect(loadSuite('generated', { definitions: [] })).rejects.toThrow('there are no tools')
  })

  test('`bfcl` without its data tells where to get it', async () => {
    const nowhere = join(tmpdir(), 'toolyard-no-data-sets')
    expect(() => dataSetsFolder({ TOOLYARD_DATA_SETS: nowhere })).toThrow(
      `There is no folder "bfcl" in "${nowhere}" (TOOLYARD_DATA_SETS): the cases are at https://github.com/ShishirPatil/gorilla`,
    )
    await expect(loadSuite('bfcl:simple', { definitions, dataFolder: nowhere })).rejects.toThrow('TOOLYARD_DATA_SETS')
  })
})
