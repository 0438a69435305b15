import type { Clock } from './clock.ts'

/** An entry with a deadline. Entries are linked to each other, so that adding one allocates nothing. */
export abstract class DeadlineEntry {
  expires = 0
  previous: DeadlineEntry | undefined
  next: DeadlineEntry | undefined
  slot = -1

  abstract expire(): void
}

const TICK_MS = 10
const SLOTS = 4096
/** A bit mask: the remainder of a large number is slow. */
const LAST_SLOT = SLOTS - 1

/** One timer for all deadlines: a timer per call costs more than the call. */
export class DeadlineWheel {
  readonly #slots: (DeadlineEntry | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #clock: Clock
  #tick = 0
  #size = 0
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#size
  }

  add(entry: DeadlineEntry, expires: number): void {
    if (this.#stop === undefined) {
      this.#tick = Math.floor(this.#clock.now() / TICK_MS)
      this.#schedule()
    }
    entry.expires = expires
    // The slot of the current tick has already been processed.
    const tick = Math.max(Math.ceil(expires / TICK_MS), this.#tick + 1)
    const slot = tick & LAST_SLOT
    const head = this.#slots[slot]
    entry.slot = slot
    entry.next = head
    if (head !== undefined) head.previous = entry
    this.#slots[slot] = entry
    this.#size++
  }

  remove(entry: DeadlineEntry): void {
    if (entry.slot === -1) return
    if (entry.previous === undefined) this.#slots[entry.slot] = entry.next
    else entry.previous.next = entry.next
    if (entry.next !== undefined) entry.next.previous = entry.previous
    entry.previous = undefined
    entry.next = undefined
    entry.slot = -1
    this.#size--
  }

  entries(): DeadlineEntry[] {
    const all: DeadlineEntry[] = []
    for (const head of this.#slots) for (let entry = head; entry !== undefined; entry = entry.next) all.push(entry)
    return all
  }

  #schedule(): void {
    this.#stop = this.#clock.after(TICK_MS, () => this.#turn())
  }

  #turn(): void {
    const now = this.#clock.now()
    // After a long pause every slot is processed once, not once per missed tick.
    const target = Math.floor(now / TICK_MS)
    const from = Math.max(this.#tick + 1, target - SLOTS + 1)
    this.#tick = target
    for (let tick = from; tick <= target; tick++) this.#expireSlot(tick & LAST_SLOT, now)
    if (this.#size > 0) this.#schedule()
    else this.#stop = undefined
  }

  #expireSlot(slot: number, now: number): void {
    const due: DeadlineEntry[] = []
    for (let entry = this.#slots[slot]; entry !== undefined; entry = entry.next) {
      if (entry.expires <= now) due.push(entry)
    }
    // Removed first: expiring one entry may add or remove others.
    for (const entry of due) this.remove(entry)
    for (const entry of due) entry.expire()
  }
}
