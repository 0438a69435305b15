import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from './failure.ts'

const AGAIN_MS = 100

/** How a promise ended, and after how long. */
export type Settled = { readonly ms: number } & (
  | { readonly value: string; readonly error?: undefined }
  | { readonly error: unknown; readonly value?: undefined }
)

/** Waits for a call to come back, in whatever way; where it takes longer than `mostMs`, the case ends here. */
export async function settle(call: Promise<string>, mostMs: number, what: string): Promise<Settled> {
  const started = performance.now()
  const ms = () => Math.round(performance.now() - started)
  const timer = new AbortController()
  const late = sleep(mostMs, undefined, { signal: timer.signal }).catch(() => undefined)
  const settled: Settled | undefined = await Promise.race([
    call.then(
      (value): Settled => ({ value, ms: ms() }),
      (error: unknown): Settled => ({ error, ms: ms() }),
    ),
    late,
  ])
  timer.abort()
  expect(settled !== undefined, `${what} has not come back after ${(mostMs / 1000).toFixed(1)} s`)
  return settled
}

/** Waits for a call that has to succeed with a text in its result. */
export async function settleWith(call: Promise<string>, wanted: string, mostMs: number, what: string): Promise<void> {
  const { value, error } = await settle(call, mostMs, what)
  expect(error === undefined, `${what} failed: ${oneLine(error)}`)
  expect(value?.includes(wanted) === true, `${what} failed: ${oneLine(value)}`)
}

/** Makes a call until it succeeds: a runtime may still be connecting when it says that it has started. */
export async function comeUp(call: () => Promise<string>, wanted: string, mostMs: number, what: string): Promise<void> {
  const end = performance.now() + mostMs
  for (;;) {
    try {
      return await settleWith(call(), wanted, Math.max(1, end - performance.now()), what)
    } catch (error) {
      if (performance.now() > end - AGAIN_MS) throw error
      await sleep(AGAIN_MS)
    }
  }
}

const oneLine = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > 160 ? `${line.slice(0, 160)}…` : line
}
