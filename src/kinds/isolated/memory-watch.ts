import { residentMb } from './resident-mb.ts'

/** How often the memory of working processes is looked at. */
const WATCH_MS = 50

/** What Node itself, its young generation and the code that is loaded take on top of the heap. */
export const MEMORY_ALLOWANCE_MB = 128

interface Watched {
  readonly pid: number | undefined
  readonly memoryMb: number
  endForMemory(): void
}

/**
 * Ends processes that hold more memory than their heap and the allowance: V8's own limit leaves out buffers. Its timer
 * is also what keeps our process alive while there are calls, as the children and their channels do not.
 */
export class MemoryWatch {
  readonly #working: () => Iterable<Watched>
  #timer: NodeJS.Timeout | undefined

  constructor(working: () => Iterable<Watched>) {
    this.#working = working
  }

  set active(active: boolean) {
    if (active) {
      this.#timer ??= setInterval(() => this.#look(), WATCH_MS)
    } else {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  #look(): void {
    for (const process of [...this.#working()]) {
      const used = process.pid === undefined ? undefined : residentMb(process.pid)
      if (used !== undefined && used > process.memoryMb + MEMORY_ALLOWANCE_MB) process.endForMemory()
    }
  }
}
