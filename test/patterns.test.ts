import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import { parseSync, Visitor } from 'oxc-parser'
import { analyse } from 'scslre'
import { describe, expect, test, vi } from 'vitest'
import { FULL } from './setup/full.ts'
import { readSources } from './setup/source-file.ts'

const root = new URL('..', import.meta.url).pathname

interface Pattern {
  readonly where: string
  readonly source: string
  readonly flags: string
}

/** Patterns that only meet text of our own, or that are no slower than the static check fears; each with its reason. */
const ALLOWED: Readonly<Record<string, string>> = {}

/** Files that build patterns at run time, and calls that make them build those that are not there from the start. */
const DYNAMIC: Readonly<Record<string, (file: never) => unknown>> = {
  'src/config/roles.ts': () => undefined,
  'src/core/records/redact.ts': () => undefined,
  'src/kinds/http/request/url-template.ts': ({
    urlTemplate,
  }: typeof import('../src/kinds/http/request/url-template.ts')) =>
    urlTemplate('https://example.com/{a}?b={b}', 'https://example.com/{a}?b={b}'),
  'src/knowledge/tools/embedded/entities.ts': () => undefined,
  'src/mcp/stdio/clean-text.ts': () => undefined,
  'packages/mini/src/choose/operations.ts': ({
    operationsOf,
  }: typeof import('../packages/mini/src/choose/operations.ts')) =>
    operationsOf([
      {
        name: 'operation',
        description: 'now: the time. diff: a difference.',
        kind: 'option',
        required: true,
        options: ['now', 'diff'],
        members: [],
      },
    ]),
  'packages/mini/src/talk/conversation.ts': () => undefined,
  'packages/mini/src/values/arithmetic.ts': () => undefined,
  'packages/mini/src/values/durations.ts': ({ timeUnit }: typeof import('../packages/mini/src/values/durations.ts')) =>
    timeUnit('length', 'number of days'),
  'packages/mini/src/values/measures.ts': () => undefined,
  'packages/mini/src/values/numbers-in.ts': () => undefined,
  'packages/mini/src/fill/fill-parameters.ts': ({
    saidOptions,
  }: typeof import('../packages/mini/src/fill/fill-parameters.ts')) =>
    saidOptions(['cooling mode', 'heat'], 'turn on the cooling mode or heating'),
  'src/models/printed-calls/read-printed.ts': () => undefined,
  'src/openapi/plain-text.ts': () => undefined,
  'src/server/http/hooks.ts': ({ KnownRoutes }: typeof import('../src/server/http/hooks.ts')) =>
    new KnownRoutes().add({ method: 'GET', url: '/tools/:name/runs/*', handler: () => undefined }),
  'src/server/http/browser-sessions.ts': () => undefined,
  'src/server/http/introspection.ts': () => undefined,
}
/** They build a pattern that somebody wrote only to see whether it is one; RE2 runs what is not simple. */
const CHECKED_AT_RUN_TIME = ['src/chat/intent-pattern.ts', 'src/core/schema/linear-pattern.ts']

const sources = ['src', 'packages']
  .flatMap((folder) => readSources(root, folder))
  .filter(({ path }) => !/\.test\.tsx?$|\/fixtures\//.test(path))
const literals: Pattern[] = []
const building: string[] = []
for (const { path, text } of sources) {
  new Visitor({
    Literal(node) {
      if (!('regex' in node)) return
      const line = text.slice(0, node.start).split('\n').length
      literals.push({ where: `${path}:${line}`, source: node.regex.pattern, flags: node.regex.flags })
    },
    NewExpression({ callee }) {
      if (callee.type === 'Identifier' && callee.name === 'RegExp') building.push(path)
    },
  }).visit(parseSync(path, text).program)
}
const built: Pattern[] = []
// The first import loads the packages, whose patterns don't count. The reset makes the second build ours.
for (const path of Object.keys(DYNAMIC)) await import(/* @vite-ignore */ `../${path}`)
vi.resetModules()
for (const [path, make] of Object.entries(DYNAMIC)) {
  vi.stubGlobal(
    'RegExp',
    new Proxy(RegExp, {
      construct(target, given: [string, string?]) {
        built.push({ where: path, source: String(given[0]), flags: given[1] ?? '' })
        return Reflect.construct(target, given)
      },
    }),
  )
  make((await import(/* @vite-ignore */ `../${path}`)) as never)
  vi.unstubAllGlobals()
}
const patterns = [...new Map([...literals, ...built].map((one) => [`/${one.source}/${one.flags}`, one])).values()]

test('knows every file that builds patterns at run time', () => {
  expect([...new Set(building)].sort()).toEqual([...Object.keys(DYNAMIC), ...CHECKED_AT_RUN_TIME].sort())
  expect(built.length).toBeGreaterThanOrEqual(building.length - CHECKED_AT_RUN_TIME.length)
  expect(literals.length).toBeGreaterThan(500)
})

describe('every pattern in src takes time in proportion to the text', () => {
  test('by its shape', () => {
    const slow = patterns.flatMap(({ where, source, flags }) => {
      const { reports } = analyse({ source, flags }, { reportTypes: { Move: true } })
      return reports.length > 0 && !(source in ALLOWED) ? [`${where} /${source}/${flags}`] : []
    })
    expect(slow).toEqual([])
  })

  test('by what it takes on rows of the texts that it looks for', () => {
    expect(patterns.filter(({ source }) => !(source in ALLOWED)).flatMap(tooSlow)).toEqual([])
  })

  const slow: [string, RegExp][] = [
    ['a row that every place starts again', /<!--[^>]*-->/g],
    ['nested stars', /^(?:\s*(?:of|is)\s*)*$/],
    ['adjacent stars', /^ok[\s.]*(?:[\s,])*$/],
    ['a row at the end', /\s+$/],
  ]
  test.each(FULL ? slow : slow.slice(0, 2))('and one with %s is found', (_, { source, flags }) => {
    expect(tooSlow({ where: 'here', source, flags })).toHaveLength(1)
  })
})

const SHORT = 2_000
/** Eight times as long: takes 8 times as long if the time is in proportion, and 64 times if it grows with the square. */
const LONG = 16_000
const MOST_GROWTH = 24
/** Below it a time is not measured well enough to be compared. */
const FLOOR_MS = 1
const ROUNDS = 3
/** A pattern that takes this long for less than the short text is not tried with it. */
const FAR_TOO_LONG_MS = 100
const LEAST_MEASURED_US = 20_000
const MOST_ROWS = 30

/** What is wrong with a pattern: the first row of texts for which its time grows faster than the text. */
function tooSlow({ where, source, flags }: Pattern): string[] {
  if (!repeats(source, flags)) return []
  for (const { prefix, unit } of rowsFor(source, flags)) {
    const row = (length: number): string => `${prefix}${unit.repeat(Math.ceil(length / unit.length))}\u0001`
    if (grows(new RegExp(source, flags), row))
      return [`${where} /${source}/${flags} on ${JSON.stringify([prefix, unit])}`]
  }
  return []
}

function grows(pattern: RegExp, row: (length: number) => string): boolean {
  // Step by step, so that an exponential one shows before it hangs.
  for (let length = 8; length < SHORT; length = length < 80 ? length + 2 : length * 2) {
    if (isSlow(pattern, row(length), FAR_TOO_LONG_MS)) return true
  }
  const short = row(SHORT)
  if (!isSlow(pattern, short, FLOOR_MS)) return false
  const long = row(LONG)
  for (let round = 0; round < ROUNDS; round++) {
    if (cpuMs(pattern, long) / cpuMs(pattern, short) <= MOST_GROWTH) return false
  }
  return true
}

/** Processor time is coarse, and the clock on the wall counts the work of others: both have to say so. */
function isSlow(pattern: RegExp, text: string, limit: number): boolean {
  for (let attempt = 0; attempt < 4; attempt++) {
    const before = performance.now()
    search(pattern, text)
    if (performance.now() - before < limit) return false
  }
  return cpuMs(pattern, text) >= limit
}

/** The processor time of one search, from as many as can be measured together. */
function cpuMs(pattern: RegExp, text: string): number {
  const before = process.threadCpuUsage()
  for (let count = 1; ; count++) {
    search(pattern, text)
    const { user, system } = process.threadCpuUsage(before)
    if (user + system > LEAST_MEASURED_US) return (user + system) / 1_000 / count
  }
}

function search(pattern: RegExp, text: string): void {
  pattern.lastIndex = 0
  if (pattern.global) text.replace(pattern, '')
  else pattern.exec(text)
}

interface Row {
  readonly prefix: string
  readonly unit: string
}

/** Characters that classes are tried with; space first, since most rows that hurt are of spaces. */
const CHARACTERS = [...' a1A,.-_/"\'([{<=:;!?@#$%&*+|~\\`)]}>\t\néß“”’👍\u0001']
const MOST_CHARACTERS = 8
const MOST_ALTERNATIVES = 6
const MOST_REPEATS = 5
const parser = new RegExpParser()
const parsed = (source: string, flags: string): AST.Pattern =>
  parser.parsePattern(source, 0, source.length, { unicode: /[uv]/.test(flags) })

/** Whether a part of it may match any number of times: without one, each place of the text takes a fixed time. */
function repeats(source: string, flags: string): boolean {
  let found = false
  visitRegExpAST(parsed(source, flags), {
    onQuantifierEnter({ max }) {
      if (max > MOST_REPEATS) found = true
    },
  })
  return found
}

/** Rows to try: what may be repeated, after what stands before it; the beginnings of the whole; and single characters. */
function rowsFor(source: string, flags: string): Row[] {
  const { alternatives } = parsed(source, flags)
  const characters = new Set([' '])
  const rows: Row[] = []
  const walk = (elements: readonly AST.Element[], prefix: string, top: boolean): void => {
    let before = prefix
    for (const element of elements) {
      for (const one of samples(element, flags)) if (one.length === 1) characters.add(one)
      if (element.type === 'Quantifier') {
        if (element.max > 1) for (const unit of samples(element.element, flags)) rows.push({ prefix: before, unit })
        walk([element.element], before, false)
      } else if ('alternatives' in element) {
        for (const { elements: inner } of element.alternatives) walk(inner, before, false)
      }
      before += samples(element, flags)[0] ?? ''
      if (top) rows.push({ prefix: '', unit: before }, { prefix: '', unit: `${before} ` })
    }
  }
  for (const { elements } of alternatives.slice(0, 20)) walk(elements, '', true)
  const beginnings = new Set(rows.map(({ prefix }) => prefix))
  for (const unit of [...characters].slice(0, MOST_CHARACTERS)) {
    for (const prefix of [...beginnings].slice(0, 6)) rows.push({ prefix, unit })
  }
  return [...new Map(rows.filter(({ unit }) => unit !== '').map((row) => [JSON.stringify(row), row])).values()].slice(
    0,
    MOST_ROWS,
  )
}

/** Short texts that a part of a pattern matches: one for each alternative and kind of character. */
function samples(node: AST.Element | AST.Alternative, flags: string): string[] {
  switch (node.type) {
    case 'Alternative':
      return [node.elements.map((one) => samples(one, flags)[0] ?? '').join('')]
    case 'Group':
    case 'CapturingGroup':
      return node.alternatives.slice(0, MOST_ALTERNATIVES).flatMap((one) => samples(one, flags))
    case 'Quantifier':
      return samples(node.element, flags).map((one) => one.repeat(Math.min(Math.max(node.min, 1), 20)))
    case 'Character':
      return [String.fromCodePoint(node.value)]
    case 'CharacterClass':
    case 'CharacterSet': {
      const alone = new RegExp(`^${node.raw}$`, flags.replaceAll(/[gy]/g, ''))
      return CHARACTERS.filter((one) => alone.test(one)).slice(0, 4)
    }
    default:
      return []
  }
}
