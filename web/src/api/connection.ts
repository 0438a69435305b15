import { useSyncExternalStore } from 'react'

/** Whether the server answers, and if not, when the page retries. */
export interface Connection {
  readonly up: boolean
  readonly retryAt: number
}

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000
/** The interval of health checks on an idle page. */
const QUIET_MS = 20_000

let connection: Connection = { up: true, retryAt: 0 }
let wait = FIRST_WAIT_MS
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()
const onReturn = new Set<() => void>()

function change(next: Connection): void {
  connection = next
  for (const listener of listeners) listener()
}

async function ask(): Promise<void> {
  clearTimeout(timer)
  try {
    const response = await fetch('/health', { cache: 'no-store', signal: AbortSignal.timeout(10_000) })
    if (response.status >= 500) throw new Error('The server is starting or stopping')
    serverAnswered()
  } catch {
    serverIsAway()
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    later(wait)
  }
}

/** There is only one timer: nothing else retries. */
function later(ms: number): void {
  clearTimeout(timer)
  timer = setTimeout(() => void ask(), ms)
  if (!connection.up) change({ up: false, retryAt: Date.now() + ms })
}

/** Reports a request without an answer. */
export function serverIsAway(): void {
  if (!connection.up) return
  wait = FIRST_WAIT_MS
  change({ up: false, retryAt: Date.now() + wait })
  later(wait)
}

/** Reports an answered request. */
export function serverAnswered(): void {
  const back = !connection.up
  if (back) change({ up: true, retryAt: 0 })
  if (back) for (const listener of onReturn) listener()
  wait = FIRST_WAIT_MS
  later(QUIET_MS)
}

/** Whether queries may refresh by themselves: while the server is away, only the connection retries. */
export const serverIsUp = (): boolean => connection.up

/** Retries now. */
export const askNow = (): Promise<void> => ask()

/** Calls back when the server answers again. Returns an unsubscribe function. */
export function whenServerReturns(listener: () => void): () => void {
  onReturn.add(listener)
  return () => void onReturn.delete(listener)
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useConnection = (): Connection => useSyncExternalStore(subscribe, () => connection)
