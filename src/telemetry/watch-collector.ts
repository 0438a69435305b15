import { type Log, writeLog } from '../core/log.ts'
import { connectionCode } from '../core/network-code.ts'

/** What exporters of all kinds have in common. */
interface Exporter<Items> {
  export(items: Items, done: (result: Result) => void): void
}

interface Result {
  /** 0 where the collector has taken them. */
  readonly code: number
  readonly error?: Error | undefined
}

/** Says once that a collector takes nothing, and once that it does again: an exporter says it never, and tries on. */
export function watchCollector<Items>(exporter: Exporter<Items>, signal: string, url: string, log: Log): void {
  const send = exporter.export.bind(exporter)
  const { origin } = new URL(url)
  let failing = false
  exporter.export = (items, done) =>
    send(items, (result) => {
      const failed = result.code !== 0
      if (failed && !failing) {
        const fields = { signal, collector: origin, reason: reasonOf(result.error) }
        writeLog(log, 'warn', fields, 'The OpenTelemetry collector takes nothing: what it should have got is dropped')
      } else if (!failed && failing) {
        writeLog(log, 'info', { signal, collector: origin }, 'The OpenTelemetry collector is back')
      }
      failing = failed
      done(result)
    })
}

/** The status that it answered with, or the code of the connection: texts may hold anything. */
function reasonOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code === 'number') return `status ${code}`
  return connectionCode(error) ?? error?.message ?? 'no reason given'
}
