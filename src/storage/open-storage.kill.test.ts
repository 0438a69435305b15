import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import type { AuditRow } from '../core/storage/ledger.ts'
import { unit } from './fixtures/given-knowledge.ts'
import { openStorage } from './open-storage.ts'
import type { Storage } from './sql/engine.ts'

const ROUNDS = process.env.TOOLYARD_TEST_FULL === '1' ? 10 : 1
const BATCH = 20
const root = mkdtempSync(join(tmpdir(), 'storage-kill-'))
afterAll(() => rmSync(root, { recursive: true }))

/** Lets a process write, and kills it in the middle: what it had been told was written. */
async function killed(
  program: 'appender' | 'putter',
  folder: string,
  instance: string,
  after: number,
): Promise<number[]> {
  const path = new URL(`./worker/fixtures/${program}.ts`, import.meta.url).pathname
  const child = spawn(process.execPath, [path, folder, instance], { stdio: ['ignore', 'pipe', 'inherit'] })
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
  const folder = join(root, 'ledger')
  const expected: string[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    const batches = await killed('appender', folder, `killed-${round}`, 5 + Math.floor(Math.random() * 60))
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

test('of a document that a process was killed over there is one version, whole, and the last that was acknowledged or later', {
  timeout: 120_000,
}, async () => {
  const folder = join(root, 'knowledge')
  let version = -1
  for (let round = 1; round <= ROUNDS; round++) {
    const acknowledged = await killed('putter', folder, `${version + 1}`, 1 + Math.floor(Math.random() * 20))
    const storage = await openStorage({ folder, instance: `reader-${round}`, keepDays: 7 }, { log: silentLog })
    const { knowledge } = storage
    const found = await knowledge.document('acme', 'docs', 'a')
    expect(found?.chunks).toBe(6)
    expect(Number(found?.version)).toBeGreaterThanOrEqual(acknowledged.at(-1) as number)
    version = Number(found?.version)
    const query = { tenant: 'acme', collection: 'docs', most: 100 }
    for (const hits of [
      await knowledge.byText({ ...query, text: 'stone' }),
      await knowledge.byVector({ ...query, vector: unit(1, 0, 0, 0) }),
    ]) {
      expect(hits.map(({ text }) => text)).toEqual(Array(6).fill(`stone a version${version}`))
    }
    const counted = { documents: 1, chunks: 6, without_vector: 0 }
    expect(await knowledge.collection('acme', 'docs')).toMatchObject(counted)
    await storage.close()
  }
})
