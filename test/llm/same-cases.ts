import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Params } from '../../src/core/tool.ts'
import type { Model } from '../../src/models/model.ts'
import { readStream } from '../../src/testing/model-contract.ts'
import { type BfclCase, loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'

const DATA = process.env.TOOLYARD_DATA_SETS ?? fileURLToPath(new URL('../../../shared/data', import.meta.url))
/** Every tenth of the 400 cases of simple_python: the same ones for every model, whatever they are good at. */
const EVERY = 10
const MOST_TOKENS = 128
/** A language model takes minutes for so many. */
const SAY_EVERY = 10

/** What one model did with all cases. */
interface Tally {
  readonly title: string
  readonly called: number
  readonly right: number
  readonly seconds: number
}

/** Asks models the same 40 cases of simple_python, and tells side by side how often each was right. */
export async function compareOnSameCases(models: readonly (readonly [title: string, model: Model])[]): Promise<string> {
  if (!existsSync(join(DATA, 'bfcl'))) {
    return `(skipped: there is no ${join(DATA, 'bfcl')}; TOOLYARD_DATA_SETS names the folder with such data)`
  }
  const { cases } = await loadBfcl('simple_python', DATA)
  const some = cases.filter((_, index) => index % EVERY === 0)
  const tallies: Tally[] = []
  for (const [title, model] of models) tallies.push(await tally(title, model, some))
  const rows = tallies.map(({ title, called, right, seconds }) => {
    const share = (part: number): string => `${((part / some.length) * 100).toFixed(1)} %`
    return `| ${title} | ${some.length} | ${share(called)} | ${share(right)} | ${(seconds / some.length).toFixed(1)} |`
  })
  return ['| model | cases | made a call | right | seconds a case |', '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  )
}

async function tally(title: string, model: Model, cases: readonly BfclCase[]): Promise<Tally> {
  const started = performance.now()
  let called = 0
  let right = 0
  for (const [index, { turns, tools, judge }] of cases.entries()) {
    if (index % SAY_EVERY === 0) console.error(`  ${title}: ${index} of ${cases.length} cases`)
    const request = { messages: turns[0] ?? [], tools, max_tokens: MOST_TOKENS, temperature: 0 }
    const { calls, text } = await readStream(model, request)
    const made = calls.map(({ function: call }) => ({ tool: call.name, params: paramsOf(call.arguments) }))
    if (made.length > 0) called++
    if (judge([{ calls: made, answer: text }]).passed) right++
  }
  return { title, called, right, seconds: (performance.now() - started) / 1000 }
}

/** What is no JSON object is judged as a malformed call. */
function paramsOf(text: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Params) : undefined
  } catch {
    return undefined
  }
}
