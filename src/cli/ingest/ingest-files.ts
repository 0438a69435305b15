import type { FoundFile } from './find-documents.ts'
import { type FileOutcome, type IngestContext, ingestFile, sourceOf } from './ingest-file.ts'
import type { IngestState } from './progress-line.ts'
import { Room } from './room.ts'

/** At a time: one waits for its vectors while another is read. */
const AT_A_TIME = 4
/** Of files that are in memory at a time, unless one alone is larger. */
const BYTES_AT_A_TIME = 16 * 1024 * 1024
/** What is refused so often in a row is not refused for what a file is. */
const MOST_REFUSALS = 3

/** A file that is not in, and why. */
export interface FileProblem {
  readonly source: string
  readonly problem: string
}

/** What became of all files. */
export interface IngestReport {
  /** How many were taken in, because they are new or have changed. */
  readonly documents: number
  readonly chunks: number
  readonly unchanged: number
  readonly skipped: readonly FileProblem[]
  readonly failed: readonly FileProblem[]
  /** Files that were not looked at, because the work was ended before. */
  readonly not_tried: number
  readonly warnings: readonly FileProblem[]
}

/** Who is told how the work goes. */
export interface IngestWatch {
  onState(state: IngestState): void
  /** A sentence about one file. */
  onLine(line: string): void
}

/** Brings all files in, several at a time. A file that cannot be read does not hold up the others. */
export async function ingestFiles(
  files: readonly FoundFile[],
  context: Omit<IngestContext, 'onChunks'>,
  watch: IngestWatch,
): Promise<IngestReport> {
  const run = new Run(files, context, watch)
  await Promise.all(Array.from({ length: AT_A_TIME }, () => run.work()))
  return run.report()
}

class Run {
  readonly #files: readonly FoundFile[]
  readonly #context: IngestContext
  readonly #watch: IngestWatch
  readonly #room = new Room(BYTES_AT_A_TIME)
  readonly #bytes: number
  readonly #skipped: FileProblem[] = []
  readonly #failed: FileProblem[] = []
  readonly #warnings: FileProblem[] = []
  #next = 0
  #doneBytes = 0
  #documents = 0
  #chunks = 0
  #unchanged = 0
  #refusals = 0

  constructor(files: readonly FoundFile[], context: Omit<IngestContext, 'onChunks'>, watch: IngestWatch) {
    this.#files = files
    this.#watch = watch
    this.#bytes = files.reduce((sum, file) => sum + weightOf(file), 0)
    this.#context = {
      ...context,
      onChunks: (count) => {
        this.#chunks += count
        this.#tell()
      },
    }
  }

  async work(): Promise<void> {
    while (!this.#context.signal.aborted && this.#refusals < MOST_REFUSALS) {
      const file = this.#files[this.#next]
      if (file === undefined) return
      this.#next++
      const outcome = await this.#room.within(file.bytes, () => ingestFile(file, this.#context))
      this.#doneBytes += weightOf(file)
      this.#count(sourceOf(file.path), outcome)
      this.#tell()
    }
  }

  report(): IngestReport {
    const tried = this.#documents + this.#unchanged + this.#skipped.length + this.#failed.length
    return {
      documents: this.#documents,
      chunks: this.#chunks,
      unchanged: this.#unchanged,
      skipped: this.#skipped,
      failed: this.#failed,
      not_tried: this.#files.length - tried,
      warnings: this.#warnings,
    }
  }

  #count(source: string, outcome: FileOutcome): void {
    if (outcome.outcome === 'cancelled') return
    this.#refusals = outcome.outcome === 'refused' ? this.#refusals + 1 : 0
    if (outcome.outcome === 'unchanged') this.#unchanged++
    else if (outcome.outcome === 'ingested') {
      this.#documents++
      for (const warning of outcome.warnings) {
        this.#warnings.push({ source, problem: warning })
        this.#watch.onLine(`Document "${source}" ${warning}`)
      }
    } else {
      const list = outcome.outcome === 'skipped' ? this.#skipped : this.#failed
      list.push({ source, problem: outcome.problem })
      this.#watch.onLine(outcome.outcome === 'skipped' ? `Skipped: ${outcome.problem}` : outcome.problem)
    }
  }

  #tell(): void {
    const documents = this.#documents + this.#unchanged
    const share = this.#bytes === 0 ? 1 : this.#doneBytes / this.#bytes
    this.#watch.onState({ documents, of: this.#files.length, chunks: this.#chunks, share })
  }
}

/** A small file takes its time too. */
const weightOf = ({ bytes }: FoundFile): number => bytes + 1_000
