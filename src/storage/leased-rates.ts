import { backgroundClock, type Clock } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { Rate, RateState, Rates } from '../core/rates.ts'
import type { Company, LeaseStore } from '../core/storage/lease-store.ts'
import { LeasedLimit, type WaitingCall } from './leased-limit.ts'

/** A call without a place waits so long for the store's answer. */
const WAIT_MS = 250
/** How often what is not used is given back, and the store looked after. */
const TICK_MS = 500
/** An answer that takes longer counts as none. */
const LATE_MS = 2_000
const DENIED_MS = 100
const MOST_AT_ONCE = 1_000

/**
 * Limits that several servers share. Each holds a part of every limit that it has calls for, so that most calls are
 * counted here and wait for nothing; parts are asked for before they run out, and given back when they are idle.
 *
 * A part is given back only when no call has used it within the time of the limit, and the parts together are never
 * more than the limit: so neither are the calls.
 */
export class LeasedRates implements Rates {
  readonly #store: LeaseStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits = new Map<string, LeasedLimit>()
  readonly #contact = new SharedContact()
  /** Limits that the store is to be asked about. */
  readonly #due = new Set<LeasedLimit>()
  #asking: Promise<void> | undefined
  #callOffTick: (() => void) | undefined
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

  /** Calls that other servers have counted are in it only as far as they leave this one a smaller part. */
  look(key: string, rate: Rate, now: number): RateState {
    const limit = this.#limits.get(nameOf(key, rate))
    if (limit === undefined) return { waitMs: 0, remaining: rate.calls }
    const capacity = this.#contact.capacity(limit, now)
    return limit.look(now, capacity, this.#contact.servers)
  }

  /** Gives back what no call has used; nothing is asked for any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#callOffTick?.()
    let callOff = (): void => {}
    const late = new Promise<void>((resolve) => {
      callOff = this.#clock.after(LATE_MS, resolve)
    })
    await Promise.race([this.#giveBack(), late])
    callOff()
  }

  async #giveBack(): Promise<void> {
    await this.#asking
    if (this.#limits.size === 0 || this.#contact.lost) return
    for (const limit of this.#limits.values()) this.#due.add(limit)
    await this.#askAll()
  }

  /** Whether the store may have more of a limit, and what it gives could be used. */
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
      if (this.#callOffTick === undefined && !this.#closed) this.#tick()
    }
    return limit
  }

  #wait(limit: LeasedLimit): Promise<RateState> {
    return new Promise((resolve) => {
      const callOff = this.#clock.after(WAIT_MS, () => this.#refuse(limit, [call]))
      const call: WaitingCall = {
        answer(state) {
          callOff()
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
    this.#callOffTick = this.#clock.after(TICK_MS, () => {
      const now = this.#clock.now()
      for (const limit of this.#limits.values()) {
        if (limit.idle(now)) this.#limits.delete(limit.key)
        // Nothing is given back to a store that cannot be reached.
        else if (!this.#contact.lost && limit.hasNews(now, this.#contact.servers)) this.#due.add(limit)
      }
      this.#callOffTick = undefined
      if (this.#limits.size === 0 && !this.#contact.lost) return
      this.#tick()
      // With nothing to ask for too: who holds a part must know in time when the store is lost.
      this.#asking ??= this.#askAll()
    })
  }

  /** One question at a time: they must reach the store in the order in which they were asked. */
  async #askAll(): Promise<void> {
    do {
      const limits = [...this.#due].slice(0, MOST_AT_ONCE)
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

  /** Gives the places that there are to the calls that wait. The rest is refused, or asked for once more. */
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
    const message =
      'Limits cannot be shared while the store cannot be reached: this server goes on with its part of them'
    writeLog(this.#log, 'warn', { servers }, message)
  }

  #find(): void {
    if (this.#contact.find(this.#clock.now())) writeLog(this.#log, 'info', {}, 'Limits are shared again')
  }
}

const nameOf = (key: string, { calls, perMs }: Rate): string => `${calls}/${perMs} ${key}`

/** Servers find out that the store is lost, or there again, within so long of each other. */
const APART_MS = 5_000

interface Gap {
  readonly from: number
  readonly to: number
}

/**
 * Whether the store can be reached, and what of a limit may be used when it cannot: an equal share for every server.
 *
 * Who holds more than its share comes down to it at once. Who holds less waits until the calls of the others are past
 * before it uses all of its share, and when the store is there again all keep to their shares for as long. So the
 * calls of all together stay within the limit throughout.
 */
export class SharedContact {
  #company: Company = { servers: 1, aloneMs: 0 }
  #lostAt: number | undefined
  /** The last time in which servers may have used shares that the store knows nothing of. */
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

  /** True where that is new. */
  lose(now: number): boolean {
    if (this.#lostAt !== undefined) return false
    this.#lostAt = now
    return true
  }

  /** True where that is new. */
  find(now: number): boolean {
    if (this.#lostAt === undefined) return false
    this.#note({ from: this.#lostAt, to: now })
    this.#lostAt = undefined
    return true
  }

  /** How many calls may have run within the time of the limit. */
  capacity({ held, calls, perMs }: LeasedLimit, now: number): number {
    if (this.#lostAt === undefined && this.#gap === undefined) return held
    const { servers, aloneMs } = this.#company
    const share = Math.floor(calls / servers)
    if (this.#lostAt !== undefined) {
      const alone = servers === 1 && aloneMs >= perMs + APART_MS
      return alone || now >= this.#lostAt + perMs + APART_MS ? share : Math.min(held, share)
    }
    const { from, to } = this.#gap as Gap
    // Where the store came back before the calls of the others were past, nobody has used more than it held.
    const mattered = to - from >= perMs
    return mattered && now < to + perMs + APART_MS ? Math.min(held, share) : held
  }

  /** One that follows soon after another counts as the same. */
  #note(gap: Gap): void {
    const last = this.#gap
    if (last === undefined || gap.from > last.to + (last.to - last.from) + 2 * APART_MS) this.#gap = gap
    else this.#gap = { from: Math.min(last.from, gap.from), to: Math.max(last.to, gap.to) }
  }
}
