import { type FileHandle, mkdir, open, readFile, rename, rm, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ObservedTurn, Verdict } from '../suites/suite.ts'
import { keyOf, type PlannedTrial, type Trial } from './trial.ts'

const FORMAT = 'toolyard-trials'
const VERSION = 1

/** A file of trials that cannot be used; the message names it and says what to do. */
export class TrialFileError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TrialFileError'
  }
}

export interface TrialFileOptions {
  /** What the trials are made with: only those of an equal one are gone on with. */
  readonly key: string
  /** Starts over, whatever there is. */
  readonly fresh: boolean
}

/** What an earlier run left. */
interface Found {
  readonly lines: readonly string[]
  readonly key: unknown
  readonly finished: boolean
  /** Up to the end of the last whole line. */
  readonly bytes: number
}

/**
 * The trials of a run, one a line, each written when it was made: a run that was broken off is gone on with. Where the
 * process was killed in the middle of a line, that line is dropped.
 */
export class TrialFile {
  readonly path: string
  readonly #handle: FileHandle
  readonly #lines: readonly string[]

  private constructor(path: string, handle: FileHandle, lines: readonly string[]) {
    this.path = path
    this.#handle = handle
    this.#lines = lines
  }

  /** Opens the file to go on with it, or begins a new one. Rejects with a `TrialFileError`. */
  static async open(path: string, { key, fresh }: TrialFileOptions): Promise<TrialFile> {
    try {
      await mkdir(dirname(path), { recursive: true })
      const found = await find(path)
      const goesOn = found !== undefined && !fresh && !found.finished
      if (goesOn && found.key !== key) {
        throw new TrialFileError(
          `${path} holds an unfinished run of other suites, models or repetitions: name another file, or start over with --fresh.`,
        )
      }
      if (!goesOn) {
        await begin(path, { format: FORMAT, version: VERSION, key })
        return new TrialFile(path, await open(path, 'a'), [])
      }
      await truncate(path, found.bytes)
      return new TrialFile(path, await open(path, 'a'), found.lines)
    } catch (error) {
      if (error instanceof TrialFileError) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new TrialFileError(`${path} cannot be used for trials: the system says ${code}.`, { cause: error })
    }
  }

  /** What would be gone on with, where this were opened; changes nothing, and gives nothing where it could not be. */
  static async earlier(path: string, key: string, planned: readonly PlannedTrial[]): Promise<Map<string, Trial>> {
    const found = await find(path).catch(() => undefined)
    return found === undefined || found.finished || found.key !== key ? new Map() : trialsIn(found.lines, planned)
  }

  /** The trials of an earlier run that are among these, judged anew; the last of each counts. */
  read(planned: readonly PlannedTrial[]): Map<string, Trial> {
    return trialsIn(this.#lines, planned)
  }

  async add(trial: Trial): Promise<void> {
    await this.#handle.appendFile(`${writeTrial(trial)}\n`)
  }

  /** Nothing is left to be done: the next run starts over. */
  async finish(): Promise<void> {
    await this.#handle.appendFile(`${JSON.stringify({ finished: true })}\n`)
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

function trialsIn(lines: readonly string[], planned: readonly PlannedTrial[]): Map<string, Trial> {
  const known = new Map(planned.map((trial) => [keyOf(trial), trial]))
  const found = new Map<string, Trial>()
  for (const line of lines) {
    const trial = readTrial(line, known)
    if (trial !== undefined) found.set(keyOf(trial), trial)
  }
  return found
}

/** Anything else than trials is never overwritten. */
async function find(path: string): Promise<Found | undefined> {
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (content === undefined || content.length === 0) return undefined
  const bytes = content.lastIndexOf('\n') + 1
  const [first = '', ...lines] = content.subarray(0, bytes).toString().split('\n').slice(0, -1)
  const head = parse(first)
  if (head?.format !== FORMAT || head.version !== VERSION) {
    throw new TrialFileError(`${path} is no file of trials: it stays as it is. Name another.`)
  }
  return { lines, key: head.key, bytes, finished: parse(lines.at(-1) ?? '')?.finished === true }
}

/** Whole or not at all, so that a file always has its first line. */
async function begin(path: string, head: object): Promise<void> {
  const next = `${path}.${process.pid}.next`
  try {
    const handle = await open(next, 'w', 0o600)
    await handle.writeFile(`${JSON.stringify(head)}\n`).finally(() => handle.close())
    await rename(next, path)
  } catch (error) {
    await rm(next, { force: true }).catch(() => {})
    throw error
  }
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Of what a model did in one trial; more is not kept, only its verdict. */
const MOST_CHARACTERS = 65_536

/** What is kept of a trial. */
interface Line {
  readonly suite: string
  readonly suite_hash: string
  readonly model: string
  readonly case: string
  readonly repetition: number
  readonly verdict: Verdict
  /** Absent where it was too much. */
  readonly turns?: readonly ObservedTurn[]
  readonly tokens: number
  readonly cost?: number
  readonly duration_ms: number
  readonly at: string
}

/** One trial as a line of JSON. */
function writeTrial(trial: Trial): string {
  const { suite, model, case: asked, repetition, verdict, turns, tokens, cost, duration_ms, at } = trial
  const line: Line = {
    suite: suite.suite.name,
    suite_hash: suite.hash,
    model: model.model.id,
    case: asked.id,
    repetition,
    verdict,
    turns,
    tokens,
    ...(cost !== undefined && { cost }),
    duration_ms,
    at,
  }
  const text = JSON.stringify(line)
  if (text.length <= MOST_CHARACTERS) return text
  const { turns: _turns, ...rest } = line
  return JSON.stringify({ ...rest, verdict: short(verdict) })
}

/**
 * Reads one of `planned` back, marked as resumed. What the model did is judged anew, so that a case whose expectation
 * was mended need not be asked again. Lines of other trials, and such as are damaged, give nothing.
 */
function readTrial(text: string, planned: ReadonlyMap<string, PlannedTrial>): Trial | undefined {
  try {
    const line = JSON.parse(text) as Line
    const { suite_hash, model, case: asked, repetition, verdict, turns, tokens, cost, duration_ms, at } = line
    const found = planned.get(JSON.stringify([suite_hash, model, asked, repetition]))
    if (found === undefined || typeof verdict.passed !== 'boolean') return undefined
    const judged = turns === undefined || (!verdict.passed && verdict.kind === 'not_answered')
    return {
      ...found,
      verdict: judged ? verdict : found.case.judge(turns),
      turns: turns ?? [],
      tokens: Number(tokens),
      ...(cost !== undefined && { cost }),
      duration_ms: Number(duration_ms),
      at: String(at),
      resumed: true,
    }
  } catch {
    return undefined
  }
}

function short(verdict: Verdict): Verdict {
  if (verdict.passed) return verdict
  const { expected: _expected, actual: _actual, ...rest } = verdict
  return { ...rest, message: rest.message.slice(0, 2_000) }
}
