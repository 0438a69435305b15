import { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import type { SqliteDatabase } from '../sqlite-database.ts'

/** What is written at once must not hold up everything else for long: some 50 ms. */
const MOST_AT_ONCE = 400

interface Waiting {
  /** What is to be done, and then what is to be said of it. */
  readonly work: () => () => void
  readonly size: number
  readonly reject: (error: unknown) => void
}

/** Writes what comes in one turn in one transaction: to have it on the disk takes as long for one as for many. */
export class GroupedWrites {
  readonly #database: SqliteDatabase
  #waiting: Waiting[] = []
  #next: NodeJS.Immediate | undefined

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** `size` says how much it writes. Where `work` is refused, nothing of it is written. */
  write<T>(size: number, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const andSay = () => {
        const value = work()
        return () => resolve(value)
      }
      this.#waiting.push({ work: andSay, size, reject })
      this.#next ??= setImmediate(() => this.#flush())
    })
  }

  /** Writes all that waits. */
  close(): void {
    while (this.#waiting.length > 0) this.#flush()
    clearImmediate(this.#next)
  }

  #flush(): void {
    const group = this.#group()
    this.#next = this.#waiting.length > 0 ? setImmediate(() => this.#flush()) : undefined
    try {
      const said = this.#database.write(() => group.map((each) => this.#one(each)))
      for (const say of said) say()
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  /** A mistake of one who asks is no reason to fail the others; what concerns the file is. */
  #one({ work, reject }: Waiting): () => void {
    this.#database.exec('SAVEPOINT one')
    try {
      const say = work()
      this.#database.exec('RELEASE one')
      return say
    } catch (error) {
      if (!(error instanceof ToolExecutionError && error.code === 'INVALID_PARAMETERS')) throw error
      this.#database.exec('ROLLBACK TO one')
      this.#database.exec('RELEASE one')
      return () => reject(error)
    }
  }

  #group(): readonly Waiting[] {
    let size = 0
    const end = this.#waiting.findIndex((each, index) => {
      size += each.size
      return index > 0 && size > MOST_AT_ONCE
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }
}
