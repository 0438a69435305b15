import { randomUUID } from 'node:crypto'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'
import type { CallBatch, CallRecord } from '../../src/core/records/recorder.ts'
import { silentLog } from '../../src/index.ts'
import { LedgerSink } from '../../src/storage/ledger/ledger-sink.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { bytesOf } from '../storage/bytes-of.ts'
import { type LoopPauses, loopPauses } from '../storage/loop-pauses.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface AuditOptions {
  /** Of an empty PostgreSQL database; absent: SQLite. */
  readonly url?: string
  readonly warmRecords: number
  readonly records: number
  /** How long each of the two looks at the loop's pauses takes. */
  readonly steadyMs: number
  /** Records a second meanwhile. */
  readonly steadyRate: number
}

export interface AuditResult {
  readonly perSecond: number
  /** What a record costs the whole process. */
  readonly cpuUs: number
  /** What handing them over costs the thread that calls are answered in. */
  readonly mainUs: number
  /** The pauses of that thread's loop: at full speed, at the steady rate, and with nothing to write. */
  readonly full: LoopPauses
  readonly steady: LoopPauses
  readonly idle: LoopPauses
  /** What a record takes on the disk, with its places in all indexes. */
  readonly bytes: number
}

/** As many as the recorder hands on at once. */
const BATCH = 256
/** Handed over before what was handed over earlier is waited for: less than a sink would have to drop. */
const AHEAD = 128
const STEP_MS = 10

/** Hands records to the store as a server does, with the audit chain and all figures. */
export async function audit(options: AuditOptions): Promise<AuditResult> {
  const { folder, remove } = await temporaryFolder()
  const store = { folder, ...(options.url !== undefined && { url: options.url }) }
  const storage = await openStorage({ ...store, instance: randomUUID(), keepDays: 7 }, { log: silentLog })
  const sink = new LedgerSink(storage.ledger, { clock: systemClock, log: silentLog })
  const empty = await bytesOf(store)
  const measured = await writeAll(sink, options)
  await sink.close(10_000)
  await storage.close()
  if (sink.dropped > 0) throw new Error(`${sink.dropped} records were dropped.`)
  const bytes = ((await bytesOf(store)) - empty) / made
  remove()
  return { ...measured, bytes }
}

async function writeAll(sink: LedgerSink, options: AuditOptions): Promise<Omit<AuditResult, 'bytes'>> {
  const { warmRecords, records, steadyMs, steadyRate } = options
  const idle = await loopPauses(async () => {
    await pause(steadyMs)
  })
  await write(sink, warmRecords)
  let [seconds, cpuUs, mainUs] = [0, 0, 0]
  const full = await loopPauses(async () => {
    const [all, main] = [process.cpuUsage(), process.threadCpuUsage()]
    const started = performance.now()
    await write(sink, records)
    seconds = (performance.now() - started) / 1000
    cpuUs = sum(process.cpuUsage(all)) / records
    mainUs = sum(process.threadCpuUsage(main)) / records
  })
  const steady = await loopPauses(() => writeSteadily(sink, steadyMs, steadyRate))
  return { perSecond: records / seconds, cpuUs, mainUs, full, steady, idle }
}

const sum = ({ user, system }: NodeJS.CpuUsage): number => user + system

/** As fast as the store takes them; over when all are safe. */
async function write(sink: LedgerSink, records: number): Promise<void> {
  const handedOver: Promise<void>[] = []
  for (let batch = 0; batch * BATCH < records; batch++) {
    sink.write(batchOf(BATCH))
    handedOver.push(sink.flush())
    if (batch >= AHEAD) await handedOver[batch - AHEAD]
    await turn()
  }
  await sink.flush()
}

/** A few every few milliseconds, as calls end. */
async function writeSteadily(sink: LedgerSink, ms: number, rate: number): Promise<void> {
  for (let step = 0; step * STEP_MS < ms; step++) {
    sink.write(batchOf((rate * STEP_MS) / 1000))
    await pause(STEP_MS)
  }
  await sink.flush()
}

let made = 0

function batchOf(size: number): CallBatch {
  return { records: Array.from({ length: size }, () => record(made++)), epoch: Date.now() }
}

const SCHEMA_HASH = 'a3'.repeat(32)

const record = (i: number): CallRecord => ({
  tool: `tool_${i % 50}`,
  tenant: `tenant_${i % 20}`,
  caller: `caller_${i % 40}`,
  source: 'rest',
  runId: undefined,
  params: { location: `Place ${i % 1000}`, units: 'celsius' },
  nodes: 3,
  code: i % 33 === 0 ? 'EXECUTION_ERROR' : undefined,
  outcomeUnknown: false,
  attempts: 1,
  schemaHash: SCHEMA_HASH,
  model: i % 2 === 0 ? undefined : 'openai:gpt-4o',
  startedMs: 0,
  executionTimeMs: (i % 997) / 10,
})
