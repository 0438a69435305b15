import { type FileHandle, mkdir, open, readFile, rename, rm, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseJson } from '../../core/json/json-depth.ts'
import type { ObservedTurn, Verdict } from '../suites/suite.ts'
import { keyOf, type PlannedTrial, type Trial } from './trial.ts'

const FORMAT = 'toolyard-trials'
const VERSION = 1

export class TrialFileError extends Error {
  override readonly name = 'TrialFileError'
}

interface TrialFileOptions {
  /** The plan's key: only a file with the same key is resumed. */
  readonly key: string
  readonly fresh: boolean
}

interface Found {
  readonly lines: readonly string[]
  readonly key: unknown
  readonly finished: boolean
  /** The length up to the last complete line. */
  readonly bytes: number
}

/** Stores trials as JSON Lines, so that an interrupted run can be resumed. Drops an incomplete last line. */
export class TrialFile {
  readonly path: string
  readonly #handle: FileHandle
  readonly #lines: readonly string[]

  private constructor(path: string, handle: FileHandle, lines: readonly string[]) {
    this.path = path
    this.#handle = handle
    this.#lines = lines
  }

  /** Opens the file to resume its run, or creates a new one. Rejects with a `TrialFileError`. */
  static async open(path: string, { key, fresh }: TrialFileOptions): Promise<TrialFile> {
    try {
      await mkdir(dirname(path), { recursive: true })
      const found = await find(path)
      const resumes = found !== undefined && !fresh && !found.finished
      if (resumes && found.key !== key) {
        throw new TrialFileError(
          `${path} holds an unfinished run of other suites, models or repetitions: use another file, or start over with --fresh.`,
        )
      }
      if (!resumes) {
        await begin(path, { format: FORMAT, version: VERSION, key })
        return new TrialFile(path, await open(path, 'a'), [])
      }
      await truncate(path, found.bytes)
      return new TrialFile(path, await open(path, 'a'), found.lines)
    } catch (error) {
      if (error instanceof TrialFileError) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new TrialFileError(`${path} can't be used for trials: the system reports ${code}.`, { cause: error })
    }
  }

  /** The trials that `open` would resume; empty if there are none. Changes nothing. */
  static async earlier(path: string, key: string, planned: readonly PlannedTrial[]): Promise<Map<string, Trial>> {
    const found = await find(path).catch(() => undefined)
    return found === undefined || found.finished || found.key !== key ? new Map() : trialsIn(found.lines, planned)
  }

  /** The stored trials among `planned`, judged again; the last one of each counts. */
  read(planned: readonly PlannedTrial[]): Map<string, Trial> {
    return trialsIn(this.#lines, planned)
  }

  async add(trial: Trial): Promise<void> {
    await this.#handle.appendFile(`${writeTrial(trial)}\n`)
  }

  /** Marks the run as complete: the next one starts over. */
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

/** Throws if the file contains anything but trials, so that it is never overwritten. */
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
    throw new TrialFileError(`${path} isn't a trial file and was not changed: use another.`)
  }
  return { lines, key: head.key, bytes, finished: parse(lines.at(-1) ?? '')?.finished === true }
}

/** Creates the file atomically, so that it always has its first line. */
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
    return Object(parseJson(line)) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** The turns of longer trials aren't stored, only the verdict. */
const MAX_LINE_CHARACTERS = 65_536
const MAX_MESSAGE_CHARACTERS = 2_000

/** A stored trial; long turns are left out. */
interface Line extends Pick<Trial, 'repetition' | 'verdict' | 'tokens' | 'cost' | 'duration_ms' | 'at'> {
  readonly suite: string
  readonly suite_hash: string
  readonly model: string
  readonly case: string
  readonly turns?: readonly ObservedTurn[]
}

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
  if (text.length <= MAX_LINE_CHARACTERS) return text
  const { turns: _turns, ...rest } = line
  return JSON.stringify({ ...rest, verdict: short(verdict) })
}

/** Reads a planned trial and judges it again: a fixed expectation needs no new request. Undefined for other lines. */
function readTrial(text: string, planned: ReadonlyMap<string, PlannedTrial>): Trial | undefined {
  try {
    const line = parseJson(text) as Line
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
  return { ...rest, message: rest.message.slice(0, MAX_MESSAGE_CHARACTERS) }
}
