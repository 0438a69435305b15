import { backgroundClock, type Clock, within } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { Rate, RateState, Rates } from '../core/rates.ts'
import type { Company, LeaseRequest, LeaseStore } from '../core/storage/lease-store.ts'

/** How long a call waits for the store to grant it a share. */
const WAIT_MS = 250
/** How often unused shares are returned and the store is checked. */
const TICK_MS = 500
/** Without an answer for this long, the store counts as lost. */
const LATE_MS = 2_000
const DENIED_MS = 100
const BATCH_LIMIT = 1_000
/** Every tick looks at all of them. */
const MAX_SESSIONS = 10_000

/**
 * Limits that several servers share. Each server leases a share of every limit it needs, so that most calls do not wait
 * for the store. It asks for more before a share runs out, and returns idle shares.
 *
 * A share is returned only if no call has used it within the period of the limit, and all shares together never exceed
 * the limit. So neither do the calls.
 */
export class LeasedRates implements Rates {
  readonly #store: LeaseStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits = new Map<string, LeasedLimit>()
  /** The limits of sessions, oldest first. */
  readonly #sessions = new Set<LeasedLimit>()
  readonly #contact = new SharedContact()
  /** Limits to ask the store about. */
  readonly #due = new Set<LeasedLimit>()
  #asking: Promise<void> | undefined
  #cancelTick: (() => void) | undefined
  #closed = false

  constructor(store: LeaseStore, { log, clock = backgroundClock }: { readonly log: Log; readonly clock?: Clock }) {
    this.#store = store
    this.#clock = clock
    this.#log = log
  }

  take(key: string, rate: Rate, now: number): RateState | Promise<RateState> {
    const limit = this.#limitOf(key, rate)
    const capacity = this.#contact.capacity(limit, now)
    const { servers } = this.#contact
    const taken = limit.take(now, capacity, servers)
    if (taken !== undefined) {
      if (limit.runsOut(now, servers) && this.#mayAsk(limit, now)) this.#ask(limit)
      return taken
    }
    return this.#mayAsk(limit, now) ? this.#wait(limit) : limit.refusal(now, capacity)
  }

  /** Calls of other servers count only in so far as they leave a smaller share to this one. */
  look(key: string, rate: Rate, now: number): RateState {
    const limit = this.#limits.get(nameOf(key, rate))
    if (limit === undefined) return { waitMs: 0, remaining: rate.calls }
    const capacity = this.#contact.capacity(limit, now)
    return limit.look(now, capacity, this.#contact.servers)
  }

  /** Returns what no call has used, and asks for nothing more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTick?.()
    await within(LATE_MS, this.#giveBack(), this.#clock)
  }

  async #giveBack(): Promise<void> {
    await this.#asking
    if (this.#limits.size === 0 || this.#contact.lost) return
    for (const limit of this.#limits.values()) this.#due.add(limit)
    await this.#askAll()
  }

  /** Whether the store may have more of a limit that this server could use. */
  #mayAsk(limit: LeasedLimit, now: number): boolean {
    if (this.#contact.lost || this.#closed || now < limit.deniedUntil) return false
    return limit.held < limit.calls && this.#contact.capacity(limit, now) >= limit.held
  }

  #limitOf(key: string, rate: Rate): LeasedLimit {
    const name = nameOf(key, rate)
    let limit = this.#limits.get(name)
    if (limit === undefined) {
      limit = new LeasedLimit(name, rate)
      this.#limits.set(name, limit)
      if (rate.ofSession) this.#sessions.add(limit)
      if (this.#sessions.size > MAX_SESSIONS) this.#forget(this.#sessions.values().next().value as LeasedLimit)
      if (this.#cancelTick === undefined && !this.#closed) this.#tick()
    }
    return limit
  }

  #forget(limit: LeasedLimit): void {
    this.#limits.delete(limit.key)
    this.#sessions.delete(limit)
  }

  #wait(limit: LeasedLimit): Promise<RateState> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(WAIT_MS, () => this.#refuse(limit, [call]))
      const call: WaitingCall = {
        answer(state) {
          cancel()
          limit.waiting.delete(call)
          resolve(state)
        },
      }
      limit.waiting.add(call)
      this.#ask(limit)
    })
  }

  #refuse(limit: LeasedLimit, calls: Iterable<WaitingCall>): void {
    const now = this.#clock.now()
    for (const call of calls) call.answer(limit.refusal(now, this.#contact.capacity(limit, now)))
  }

  #ask(limit: LeasedLimit): void {
    this.#due.add(limit)
    this.#asking ??= this.#askAll()
  }

  #tick(): void {
    this.#cancelTick = this.#clock.after(TICK_MS, () => {
      const now = this.#clock.now()
      for (const limit of this.#limits.values()) {
        if (limit.idle(now)) this.#forget(limit)
        else if (!this.#contact.lost && limit.hasNews(now, this.#contact.servers)) this.#due.add(limit)
      }
      this.#cancelTick = undefined
      if (this.#limits.size === 0 && !this.#contact.lost) return
      this.#tick()
      // Also with nothing to ask for: a server that holds a share must notice in time that the store is lost.
      this.#asking ??= this.#askAll()
    })
  }

  /** One request at a time: requests must reach the store in order. */
  async #askAll(): Promise<void> {
    do {
      const limits = [...this.#due].slice(0, BATCH_LIMIT)
      for (const limit of limits) this.#due.delete(limit)
      await this.#askFor(limits)
    } while (this.#due.size > 0)
    this.#asking = undefined
  }

  async #askFor(limits: readonly LeasedLimit[]): Promise<void> {
    const now = this.#clock.now()
    const requests = limits.map((limit) => limit.request(now, this.#contact.servers, this.#closed))
    const late = this.#clock.after(LATE_MS, () => this.#lose())
    try {
      const held = await this.#store.lease(requests)
      this.#contact.meet(await this.#store.company(), this.#clock.now())
      this.#find()
      for (const [index, limit] of limits.entries()) this.#grant(limit, held[index] ?? 0, requests[index]?.want ?? 0)
    } catch {
      this.#lose()
      const company = await this.#store.company().catch(() => undefined)
      if (company !== undefined) this.#contact.meet(company, this.#clock.now())
      for (const limit of limits) this.#serve(limit)
    } finally {
      late()
    }
  }

  #grant(limit: LeasedLimit, held: number, want: number): void {
    const now = this.#clock.now()
    limit.held = held
    limit.unsure = false
    if (held < want) limit.deniedUntil = now + Math.min(DENIED_MS, limit.perMs)
    this.#serve(limit)
  }

  /** Lets waiting calls through as far as the share allows; the others are refused, or the store is asked again. */
  #serve(limit: LeasedLimit): void {
    const now = this.#clock.now()
    for (const call of limit.waiting) {
      const taken = limit.take(now, this.#contact.capacity(limit, now), this.#contact.servers)
      if (taken === undefined) break
      call.answer(taken)
    }
    if (limit.waiting.size === 0) return
    if (this.#mayAsk(limit, now)) this.#due.add(limit)
    else this.#refuse(limit, limit.waiting)
  }

  #lose(): void {
    if (!this.#contact.lose(this.#clock.now())) return
    const { servers } = this.#contact
    const message = 'The store is unreachable: this server uses its share of every limit'
    writeLog(this.#log, 'warn', { servers }, message)
  }

  #find(): void {
    if (this.#contact.find(this.#clock.now())) writeLog(this.#log, 'info', {}, 'Limits are shared again')
  }
}

const nameOf = (key: string, { calls, perMs }: Rate): string => `${calls}/${perMs} ${key}`

/** All servers notice within this time of each other that the store is lost or back. */
const APART_MS = 5_000

interface Gap {
  readonly from: number
  readonly to: number
}

/**
 * Whether the store can be reached. While it can't, every server uses an equal share of each limit.
 *
 * A server that holds more than this share reduces its use at once. One that holds less waits until the calls of the
 * others have expired before it uses all of its share. When the store is back, all servers keep to their shares for the
 * same time. So all calls together stay within the limit.
 */
export class SharedContact {
  #company: Company = { servers: 1, aloneMs: 0 }
  #lostAt: number | undefined
  /** The last time in which servers may have used equal shares, which the store does not know of. */
  #gap: Gap | undefined

  get lost(): boolean {
    return this.#lostAt !== undefined
  }

  get servers(): number {
    return this.#company.servers
  }

  meet(company: Company, now: number): void {
    this.#company = company
    const { gap } = company
    if (gap !== undefined) this.#note({ from: now - gap.agoMs - gap.lastedMs, to: now - gap.agoMs })
  }

  /** True if that is new. */
  lose(now: number): boolean {
    if (this.#lostAt !== undefined) return false
    this.#lostAt = now
    return true
  }

  /** True if that is new. */
  find(now: number): boolean {
    if (this.#lostAt === undefined) return false
    this.#note({ from: this.#lostAt, to: now })
    this.#lostAt = undefined
    return true
  }

  /** How many calls may run within the period of the limit. */
  capacity({ held, calls, perMs }: LeasedLimit, now: number): number {
    if (this.#lostAt === undefined && this.#gap === undefined) return held
    const { servers, aloneMs } = this.#company
    const share = Math.floor(calls / servers)
    if (this.#lostAt !== undefined) {
      const alone = servers === 1 && aloneMs >= perMs + APART_MS
      return alone || now >= this.#lostAt + perMs + APART_MS ? share : Math.min(held, share)
    }
    const { from, to } = this.#gap as Gap
    // If the store came back within one period, no server has used more than it held.
    const mattered = to - from >= perMs
    return mattered && now < to + perMs + APART_MS ? Math.min(held, share) : held
  }

  /** A gap that follows soon after another extends it. */
  #note(gap: Gap): void {
    const last = this.#gap
    if (last === undefined || gap.from > last.to + (last.to - last.from) + 2 * APART_MS) this.#gap = gap
    else this.#gap = { from: Math.min(last.from, gap.from), to: Math.max(last.to, gap.to) }
  }
}

/** The servers together hold this part of a limit, one eighth, in reserve. */
const SPARE_PART = 8
/** Without a call for this long, a server holds no reserve. */
const IDLE_MS = 1_000
/** The wait that callers are told if only other servers know when there is room again. */
const GUESS_MS = 1_000

interface WaitingCall {
  answer(state: RateState): void
}

/** One limit: the share of this server, and the calls that have used it. */
export class LeasedLimit implements Rate {
  readonly key: string
  readonly calls: number
  readonly perMs: number
  readonly window: SlidingWindow
  readonly waiting = new Set<WaitingCall>()
  /** The share that may be used here, without what is being returned. */
  held = 0
  /** The store had no more to grant, and is not asked again until then. */
  deniedUntil = Number.NEGATIVE_INFINITY
  /** A request was not answered, so the share that the store has recorded is unknown. */
  unsure = false
  #usedAt = Number.NEGATIVE_INFINITY

  constructor(key: string, { calls, perMs }: Rate) {
    this.key = key
    this.calls = calls
    this.perMs = perMs
    this.window = new SlidingWindow(perMs)
  }

  idle(now: number): boolean {
    return this.held === 0 && !this.unsure && this.waiting.size === 0 && this.window.count(now) === 0
  }

  /** The share to hold from now on: at least what was used within the period of the limit. */
  target(now: number, servers: number): number {
    const needed = this.window.count(now) + this.waiting.size
    const busy = this.waiting.size > 0 || now < this.#usedAt + Math.min(IDLE_MS, this.perMs)
    return Math.min(this.calls, needed + (busy ? this.#spare(servers) : 0))
  }

  runsOut(now: number, servers: number): boolean {
    return this.held - this.window.count(now) < this.#spare(servers) / 2
  }

  /** Whether to report to the store although no call waits. */
  hasNews(now: number, servers: number): boolean {
    return this.unsure || this.held !== this.target(now, servers)
  }

  /** What to ask the store for; in the last request only what has been used. */
  request(now: number, servers: number, last: boolean): LeaseRequest {
    const want = last ? this.window.count(now) : this.target(now, servers)
    // Returned shares are not used any more, no matter when the store receives the request.
    this.held = Math.min(this.held, want)
    this.unsure = true
    return { key: this.key, calls: this.calls, perMs: this.perMs, want }
  }

  take(now: number, capacity: number, servers: number): RateState | undefined {
    const used = this.window.count(now)
    if (used >= capacity) return undefined
    this.window.add(now)
    this.#usedAt = now
    const left = Math.max(capacity, Math.floor(this.calls / servers)) - used - 1
    return { waitMs: 0, remaining: left }
  }

  /** The state, without counting a call. */
  look(now: number, capacity: number, servers: number): RateState {
    const used = this.window.count(now)
    const remaining = Math.max(0, Math.max(capacity, Math.floor(this.calls / servers)) - used)
    return remaining > 0 ? { waitMs: 0, remaining } : this.refusal(now, capacity)
  }

  refusal(now: number, capacity: number): RateState {
    const used = this.window.count(now)
    const pastAt = capacity > 0 ? this.window.pastAt(used - capacity) : undefined
    return { waitMs: pastAt === undefined ? Math.min(this.perMs, GUESS_MS) : pastAt - now, remaining: 0 }
  }

  #spare(servers: number): number {
    return Math.floor(this.calls / (SPARE_PART * servers))
  }
}

/** Expired times are removed when there are this many of them. */
const CUT_AT = 1_024

/** The times of recent calls. */
class SlidingWindow {
  readonly #perMs: number
  #times: number[] = []
  #first = 0

  constructor(perMs: number) {
    this.#perMs = perMs
  }

  count(now: number): number {
    const times = this.#times
    while (this.#first < times.length && (times[this.#first] as number) + this.#perMs <= now) this.#first++
    if (this.#first === times.length || this.#first >= CUT_AT) {
      this.#times = times.slice(this.#first)
      this.#first = 0
    }
    return this.#times.length - this.#first
  }

  add(now: number): void {
    this.#times.push(now)
  }

  /** When the call at this place, counted from the oldest, expires; undefined if there are fewer calls. */
  pastAt(place: number): number | undefined {
    const time = this.#times[this.#first + place]
    return time === undefined ? undefined : time + this.#perMs
  }
}
