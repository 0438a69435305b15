import { write, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Log, LogLevel } from '../../core/log.ts'
import { redactedRecord } from '../../core/records/redact.ts'

const STDERR = 2
/** Records collected for one write, and how long they may wait for it. */
const BUFFER_LENGTH = 64 * 1024
const FLUSH_MS = 500
/** Records are dropped, and counted, if nobody reads stderr. */
const MAX_WAITING_LENGTH = 16 * 1024 * 1024
const RETRY_MS = 20

/** A log on stderr. */
type WrittenLog = Log & {
  /** Writes the buffered records now. */
  flush(): void
}

interface LogOptions {
  readonly buffered?: boolean
  /** Gets the records instead of stderr. */
  readonly stream?: Writable
}

/**
 * A structured log on stderr, one record a line: stdout belongs to protocols and results. A server's log is `buffered`
 * and written asynchronously.
 */
export function createLog(
  level = process.env.TOOLYARD_LOG || 'info',
  { buffered = false, stream }: LogOptions = {},
): WrittenLog {
  if (!(level in pino.levels.values) && level !== 'silent') {
    const known = [...Object.keys(pino.levels.values), 'silent'].join(', ')
    throw new TypeError(`Unknown log level "${level}": TOOLYARD_LOG takes one of ${known}`)
  }
  const write = stream === undefined ? writeNow : (record: string) => void stream.write(record)
  const destination = buffered ? new BufferedStderr() : { write, flush() {} }
  const { values } = pino.levels
  let [last, lastJson] = ['', '""']
  // Records of calls are redacted while they are written.
  const border = { write: (record: string) => destination.write(redactedRecord(record)) }
  return Object.assign(pino({ level, base: null }, border), {
    flush: () => destination.flush(),
    writeJson(at: LogLevel, fields: string, message: string) {
      // Nearly all records of calls have the same message.
      if (message !== last) {
        last = message
        lastJson = JSON.stringify(message)
      }
      destination.write(`{"level":${values[at]},"time":${Date.now()},${fields},"msg":${lastJson}}\n`)
    },
  })
}

/** Collects records and writes them off the path of calls. pino's own destination costs ten times as much a record. */
class BufferedStderr {
  /** The records that wait. Adding to a text is cheaper than joining a list. */
  #records = ''
  #dropped = 0
  #writing: Buffer | undefined

  constructor() {
    setInterval(() => this.#writeNext(), FLUSH_MS).unref()
    process.on('exit', () => this.flush())
  }

  write(record: string): void {
    if (this.#records.length > MAX_WAITING_LENGTH) {
      this.#dropped++
      return
    }
    this.#records += record
    if (this.#records.length >= BUFFER_LENGTH && this.#writing === undefined) this.#writeNext()
  }

  /** Writes everything before it returns. */
  flush(): void {
    // The write in flight can't be recalled: its rest may be written twice, but never lost.
    const rest = this.#writing ?? Buffer.alloc(0)
    this.#writing = undefined
    writeNow(Buffer.concat([rest, this.#take()]))
  }

  #take(): Buffer {
    if (this.#dropped > 0) {
      this.#records += `{"level":40,"time":${Date.now()},"dropped":${this.#dropped},"msg":"Log records were dropped"}\n`
      this.#dropped = 0
    }
    const text = this.#records
    this.#records = ''
    return Buffer.from(text)
  }

  #writeNext(): void {
    if (this.#writing !== undefined || this.#records === '') return
    this.#write(this.#take())
  }

  #write(bytes: Buffer): void {
    this.#writing = bytes
    write(STDERR, bytes, (error, written) => {
      // A flush has written it meanwhile.
      if (this.#writing !== bytes) return
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#writing === bytes && this.#write(bytes), RETRY_MS).unref()
        return
      }
      this.#writing = undefined
      if (error === null && written < bytes.length) this.#write(bytes.subarray(written))
      else if (this.#records.length >= BUFFER_LENGTH) this.#writeNext()
    })
  }
}

/** Retries while the pipe is full, and ignores a closed one. */
function writeNow(record: string | Buffer): void {
  let bytes = Buffer.from(record)
  for (let tries = 0; bytes.length > 0 && tries < 100; ) {
    try {
      bytes = bytes.subarray(writeSync(STDERR, bytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
      tries++
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}
