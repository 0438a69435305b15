import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CallEntry } from '../../src/core/storage/ledger.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * Measures `toolyard report` over generated audit rows on SQLite: node bench/storage/report-rows.ts --rows 1000000. The rows
 * are written by one process and read by another, which loads only the command line, and whose time and peak memory are printed.
 */
const { values } = parseArgs({
  options: { rows: { type: 'string', default: '1000000' }, fill: { type: 'string' }, read: { type: 'string' } },
})
const BATCH = 5_000
const CODES = [null, null, null, null, null, null, 'TIMEOUT', 'PERMISSION_DENIED', 'INVALID_PARAMETERS', null] as const

if (values.fill !== undefined) await fill(values.fill, Number(values.rows))
else if (values.read !== undefined) await read(values.read)
else {
  const { folder } = await temporaryFolder()
  for (const phase of ['--fill', '--read']) {
    const args = [import.meta.filename, '--rows', values.rows, phase, folder]
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (status !== 0) process.exit(1)
  }
}

async function fill(folder: string, rows: number): Promise<void> {
  const { hostStorage } = await import('../../src/storage/worker/host-storage.ts')
  const { silentLog } = await import('../../src/core/log.ts')
  const { ledger, close } = await hostStorage({ folder, instance: randomUUID(), keepDays: 36_500 }, { log: silentLog })
  const begin = Date.now() - 30 * 86_400_000
  for (let written = 0; written < rows; written += BATCH) {
    const calls = Array.from({ length: Math.min(BATCH, rows - written) }, (_, index): CallEntry => {
      const number = written + index
      return {
        at: begin + Math.floor((number / rows) * 30 * 86_400_000),
        tenant: `tenant-${number % 20}`,
        caller: `key-${number % 300}`,
        source: 'rest',
        runId: null,
        tool: `tool_${number % 97}`,
        model: null,
        schemaHash: '0123456789abcdef',
        params: `{"id":${number % 1_000}}`,
        cost: number % 2 === 0 ? 1_250 : null,
        keyId: `key-${number % 300}`,
        code: CODES[number % CODES.length] ?? null,
        unknown: false,
        durationMs: 1 + (number % 500),
        attempts: 1,
      }
    })
    await ledger.append(calls, [])
  }
  await close()
}

async function read(folder: string): Promise<void> {
  const { main } = await import('../../src/cli/main.ts')
  const out = join(folder, 'report.html')
  const start = performance.now()
  const env = { ...process.env, TOOLYARD_DATA: folder }
  const io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, env, cwd: folder }
  const code = await main(['report', '--out', out], io)
  const seconds = ((performance.now() - start) / 1_000).toFixed(1)
  const { user, system } = process.cpuUsage()
  const cpu = ((user + system) / 1e6).toFixed(1)
  const megabytes = Math.round(process.resourceUsage().maxRSS / 1_024)
  const kilobytes = Math.round((await stat(out)).size / 1_024)
  process.stdout.write(
    `Exit code ${code}, ${seconds} s, ${cpu} s of CPU time, ${megabytes} MB peak, ${kilobytes} kB of HTML\n`,
  )
  process.exit(code)
}
