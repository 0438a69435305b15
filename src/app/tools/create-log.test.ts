import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'

const MODULE = new URL('./create-log.ts', import.meta.url).href

/** Runs a script with `log` in a process of its own and gives the records it wrote to stderr. */
async function recordsOf(script: string, { slow = false } = {}) {
  const source = `import { createLog } from '${MODULE}'; const log = createLog('info', { buffered: true }); ${script}`
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module-typescript', '-e', source], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (slow) await wait(500)
  const lines = (await text(child.stderr)).trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('a buffered log loses no record when the process ends, even if the reader is slow', async () => {
  const records = await recordsOf(
    "for (let n = 0; n < 5_000; n++) log.info({ n, pad: 'x'.repeat(100) }, 'record'); process.exit(0)",
    { slow: true },
  )
  expect([...new Set(records.map(({ n }) => n))]).toEqual(Array.from({ length: 5_000 }, (_, n) => n))
})

test('writeJson writes the same form of record as the levels do', async () => {
  const [plain, json] = await recordsOf(
    'log.warn({ a: 1 }, "hm"); log.writeJson("warn", \'"a":1\', "hm"); log.flush(); process.exit(0)',
  )
  expect({ ...json, time: 0 }).toEqual({ ...plain, time: 0 })
})
