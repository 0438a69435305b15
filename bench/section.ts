/** How much work a run does. */
export interface Effort {
  readonly quick: boolean
  /** Ids of contenders and loops to measure; a section of which none is named measures all of its own. */
  readonly contenders: readonly string[]
  /** Says how far the run is. */
  progress(line: string): void
}

/** What a section found: the raw numbers, and how they read. */
export interface Finding {
  readonly raw: unknown
  readonly markdown: string
}

/** One question that the bench answers, with a table of its own. */
export interface Section {
  /** Unique; what `--only` takes. */
  readonly id: string
  readonly title: string
  run(effort: Effort): Promise<Finding>
}
