import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { someOf } from '../test/setup/full.ts'
import { cases } from './cases/index.ts'
import { runInChild } from './run-in-child.ts'

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const TIME = { timeout: 60_000 }
// They wait more than they work.
vi.setConfig({ maxConcurrency: 6 })

const page = readFileSync(file('../docs/internals/conformance.md'), 'utf8')

/** Why the naive runtime fails: for what the case is about, and for nothing else. */
const NAIVE_FAILS: Readonly<Record<string, RegExp>> = {
  'never-ends': /deadline of 1000 ms has not come back/,
  'deadline-stops-work': /deadline of 1000 ms has not come back/,
  'cancel-reaches-tool': /was never told that the call was cancelled/,
  'cpu-bound': /The whole process stood still/,
  // On a machine that is busy the deadline may pass before the memory is full.
  allocates: /The whole process ended: FATAL ERROR: .*heap|A call with a deadline of 1000 ms has/,
  'huge-result': /was handed 32 MB/,
  'invalid-arguments': /The tool was run with {}/,
  'malformed-json': /The run ended after a call with broken JSON/,
  'unknown-tool': /The run ended after a call for an unknown tool/,
  'one-of-two-throws': /The run ended after a tool that threw: the disk is full/,
  'loops-for-ever': /more than 25 times/,
  'parallel-bounded': /200 calls ran at the same time/,
  'mcp-killed-between': /The whole process ended: Error: write EPIPE|after the crash has not come back/,
  'mcp-killed-during': /A call whose server died has not come back/,
  'mcp-http-restarted': /after the restart failed: .*Session not found/,
  'mcp-hangs': /deadline of 1000 ms has not come back/,
  'mcp-write-once': /One call over HTTP was carried out 3 times/,
  'mcp-leaves-nothing': /The server runs on after close\(\)/,
  'mcp-noise': /The whole process ended: SyntaxError/,
  'mcp-slow-start': /the start included, has not come back/,
  'approval-respected': /was run before anybody approved it/,
  'approval-binds-parameters': /with the same id and other parameters was run without approval/,
  'resume-writes-once': /repeated a write when it was continued: 2 and 1 times/,
}

/** These use a whole core: beside others, they would measure the machine. */
const HEAVY: readonly string[] = ['cpu-bound', 'allocates']
const passes = async ({ id }: { readonly id: string }) =>
  expect(await runInChild(file('adapters/reference.ts'), id)).toMatchObject({ status: 'pass', reason: '' })

test.each(cases.filter(({ id }) => HEAVY.includes(id)))('the reference runtime passes $id', TIME, passes)

test.concurrent.each(cases.filter(({ id }) => !HEAVY.includes(id)))('the reference runtime passes $id', TIME, passes)

test.concurrent.each(someOf(cases))('the naive runtime fails $id, for the right reason', TIME, async ({ id }) => {
  const { status, reason } = await runInChild(file('adapters/naive.ts'), id)
  expect(status).toBe('fail')
  expect(reason).toMatch(NAIVE_FAILS[id] ?? /no reason expected/)
})

test.each(cases)('$id is in the documentation, with the thread that asks for it', ({ id, title, why, thread }) => {
  expect(page).toContain(`### ${id}\n\n${title}. ${why}\n`)
  const [repository, number] = thread.split('#')
  const address = new RegExp(`\\[${thread}\\]\\(https://github.com/${repository}/(issues|pull)/${number}\\)`)
  expect(page).toMatch(address)
})
