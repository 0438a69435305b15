import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import type { AuditRow } from '../core/storage/audit.ts'
import type { Storage } from '../core/storage/storage.ts'
import { openStorage } from './open-storage.ts'

const ROUNDS = 4
const BATCH = 20
const appender = new URL('./worker/fixtures/appender.ts', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'storage-kill-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Lets a process append, and kills it in the middle: the batches that it had been told were written. */
async function killed(instance: string, after: number): Promise<number[]> {
  const child = spawn(process.execPath, [appender, folder, instance], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const acknowledged: number[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(Number(line))
    if (acknowledged.length === after) setTimeout(() => child.kill('SIGKILL'), Math.random() * 20)
  }
  await ended
  expect(child.signalCode).toBe('SIGKILL')
  return acknowledged
}

async function toolsIn({ ledger }: Storage): Promise<Set<string>> {
  const rows: AuditRow[] = []
  let cursor: string | undefined
  do {
    const page = await ledger.audit({ tenant: 'acme', limit: 1_000, ...(cursor !== undefined && { cursor }) })
    rows.push(...page.rows)
    cursor = page.next
  } while (cursor !== undefined)
  return new Set(rows.map(({ tool }) => tool))
}

test('a process that is killed loses nothing that was acknowledged, and no chain breaks', {
  timeout: 120_000,
}, async () => {
  const expected: string[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    const batches = await killed(`killed-${round}`, 5 + Math.floor(Math.random() * 60))
    for (const batch of batches) {
      for (let index = 0; index < BATCH; index++) expected.push(`killed-${round} ${batch} ${index}`)
    }
  }
  const storage = await openStorage({ folder, instance: 'reader', keepDays: 7 }, { log: silentLog })
  const found = await toolsIn(storage)
  expect(expected.filter((tool) => !found.has(tool))).toEqual([])
  const report = await storage.ledger.verify()
  expect(report).toMatchObject({ chains: ROUNDS, rows: found.size, expired: 0, faults: [] })
  expect(found.size).toBeGreaterThanOrEqual(expected.length)
  expect((await storage.status()).ready).toBe(true)
  await storage.close()
})
