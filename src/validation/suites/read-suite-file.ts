import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SuiteError } from './suite.ts'
import { FILE_SCHEMA, SUITE_LIMITS, schemaProblems } from './suite-schema.ts'

/** A suite whose cases aren't checked yet. */
export interface UncheckedSuite {
  readonly name: string
  readonly remark?: string
  readonly cases: readonly UncheckedCase[]
}

interface UncheckedCase {
  /** File and line, for messages. */
  readonly place: string
  readonly value: unknown
}

/** Reads a suite file: a list of cases, an object with `cases`, or JSON Lines if its name ends in `.jsonl` or `.ndjson`. */
export async function readSuiteFile(file: string): Promise<UncheckedSuite> {
  const text = await readBounded(file)
  const name = basename(file)
  const suite = /\.(?:jsonl|ndjson)$/i.test(file) ? { name, cases: linesIn(text, file) } : documentIn(text, file, name)
  const { length } = suite.cases
  if (length === 0) throw new SuiteError(`${file}: it has no cases: add one.`)
  if (length > SUITE_LIMITS.cases) {
    throw new SuiteError(`${file}: it has ${length} cases, but at most ${SUITE_LIMITS.cases} are allowed: split it.`)
  }
  return suite
}

async function readBounded(file: string): Promise<string> {
  try {
    const found = await stat(file)
    if (!found.isFile())
      throw new SuiteError(`"${file}" isn't a file: use a file with cases, bfcl:simple or generated.`)
    if (found.size > SUITE_LIMITS.bytes) {
      const most = SUITE_LIMITS.bytes / 1024 / 1024
      throw new SuiteError(`${file}: it has ${found.size} bytes, but at most ${most} MB are allowed: split it.`)
    }
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SuiteError) throw error
    const reason = code === 'ENOENT' ? 'There is no suite or file' : `The system reports ${code} for the file`
    throw new SuiteError(`${reason} "${file}": use a file with cases, bfcl:simple or generated.`, { cause: error })
  }
}

function linesIn(text: string, file: string): UncheckedCase[] {
  return text.split('\n').flatMap((line, index) => {
    const place = `${file}:${index + 1}`
    return line.trim() === '' ? [] : [{ place, value: parsed(line, place) }]
  })
}

function documentIn(text: string, file: string, name: string): UncheckedSuite {
  const value = parsed(text, file)
  if (!Array.isArray(value)) {
    const problems = schemaProblems(value, FILE_SCHEMA, 'the file')
    if (problems.length > 0) throw new SuiteError(`${file}: ${problems.join(' ')}`)
  }
  const lines = itemLines(text)
  const { cases, remark } = (isObject(value) ? value : { cases: value }) as Partial<UncheckedSuite>
  return {
    name: (isObject(value) ? (value as Partial<UncheckedSuite>).name : undefined) ?? name,
    ...(remark !== undefined && { remark }),
    cases: (cases as readonly unknown[]).map((one, at) => ({ place: `${file}:${lines[at] ?? 1}`, value: one })),
  }
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SuiteError(`${place}: invalid JSON: ${reason.replace(/^JSON\.parse: /, '')}. Fix it there.`, {
      cause: error,
    })
  }
}

/**
 * The line numbers at which the items of the top-level list begin, or of the lists in the top-level object. The text
 * must be valid JSON.
 */
function itemLines(text: string): number[] {
  const lines: number[] = []
  const wanted = text.trimStart().startsWith('[') ? 1 : 2
  const open: string[] = []
  let line = 1
  let due = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '\n') line++
    if (/\s/.test(character)) continue
    if (due && character !== ']') lines.push(line)
    due = false
    if (character === '"') at = endOfString(text, at)
    else if (character === '[' || character === '{') open.push(character)
    else if (character === ']' || character === '}') open.pop()
    due = open.length === wanted && open.at(-1) === '[' && (character === '[' || character === ',')
  }
  return lines
}

/** The end of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
