import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { SuiteError } from './suite.ts'
import { FILE_SCHEMA, SUITE_LIMITS, schemaProblems } from './suite-schema.ts'

/** What stands in a file, the cases not looked at yet, each with its place for messages. */
export interface WrittenSuite {
  readonly name: string
  readonly remark?: string
  readonly cases: readonly WrittenCase[]
}

export interface WrittenCase {
  readonly place: string
  readonly value: unknown
}

/** Reads a file with cases: a list of them, an object with `cases`, or one case a line where it ends in `.jsonl`. */
export async function readSuiteFile(file: string): Promise<WrittenSuite> {
  const text = await readBounded(file)
  const name = basename(file)
  const suite = /\.(?:jsonl|ndjson)$/i.test(file) ? { name, cases: linesIn(text, file) } : documentIn(text, file, name)
  const { length } = suite.cases
  if (length === 0) throw new SuiteError(`${file}: there is no case in it: add one.`)
  if (length > SUITE_LIMITS.cases) {
    throw new SuiteError(`${file}: there are ${length} cases in it, and ${SUITE_LIMITS.cases} are the most: split it.`)
  }
  return suite
}

async function readBounded(file: string): Promise<string> {
  try {
    const found = await stat(file)
    if (!found.isFile()) throw new SuiteError(`"${file}" is no file: name one with cases, bfcl:simple or generated.`)
    if (found.size > SUITE_LIMITS.bytes) {
      const most = SUITE_LIMITS.bytes / 1024 / 1024
      throw new SuiteError(`${file}: it has ${found.size} bytes, and ${most} MB are the most: split it.`)
    }
    return (await readFile(file, 'utf8')).replace(/^\uFEFF/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SuiteError) throw error
    const reason = code === 'ENOENT' ? 'There is no suite or file' : `The system says ${code} of the file`
    throw new SuiteError(`${reason} "${file}": name a file with cases, bfcl:simple or generated.`, { cause: error })
  }
}

function linesIn(text: string, file: string): WrittenCase[] {
  return text.split('\n').flatMap((line, index) => {
    const place = `${file}:${index + 1}`
    return line.trim() === '' ? [] : [{ place, value: parsed(line, place) }]
  })
}

function documentIn(text: string, file: string, name: string): WrittenSuite {
  const value = parsed(text, file)
  if (!Array.isArray(value)) {
    const problems = schemaProblems(value, FILE_SCHEMA, 'the file')
    if (problems.length > 0) throw new SuiteError(`${file}: ${problems.join(' ')}`)
  }
  const lines = itemLines(text)
  const { cases, remark } = (isObject(value) ? value : { cases: value }) as Partial<WrittenSuite>
  return {
    name: (isObject(value) ? (value as Partial<WrittenSuite>).name : undefined) ?? name,
    ...(remark !== undefined && { remark }),
    cases: (cases as readonly unknown[]).map((one, at) => ({ place: `${file}:${lines[at] ?? 1}`, value: one })),
  }
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new SuiteError(`${place}: no JSON: ${reason.replace(/^JSON\.parse: /, '')}. Correct it there.`, {
      cause: error,
    })
  }
}

/**
 * The lines on which the items of a JSON text begin, counted from 1: those of the list that it is, or of the list in
 * the object that it is. The text must be JSON.
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
    if (character === '"') at = endOfText(text, at)
    else if (character === '[' || character === '{') open.push(character)
    else if (character === ']' || character === '}') open.pop()
    due = open.length === wanted && open.at(-1) === '[' && (character === '[' || character === ',')
  }
  return lines
}

/** Where the quotes that open at `start` close; a text of JSON holds no line ends. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
