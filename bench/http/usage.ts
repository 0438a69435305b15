/** What a process has used since it began, and holds. */
export interface Usage {
  /** Of the whole process, in microseconds: its threads, its collector and its compiler. */
  readonly cpuUs: number
  /** Of its main thread alone. */
  readonly mainUs: number
  /** Bytes on the heap of its main thread, and outside it for objects on it. */
  readonly heapBytes: number
  readonly residentBytes: number
}
