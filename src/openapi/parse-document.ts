import { parseDocument as parseYaml } from 'yaml'
import { OpenapiError } from './documents.ts'

/** The longest document that is read. */
export const DOCUMENT_BYTES = 64 * 1024 * 1024
/** Reading YAML takes 60 times its length in memory. */
const YAML_CHARACTERS = 16 * 1024 * 1024
/** Invalid JSON may still be YAML in flow style, but such documents are short. */
const DOUBTFUL_CHARACTERS = 1024 * 1024
/** How often aliases may repeat what they stand for. */
const MAX_ALIASES = 5_000

/** Parses JSON or YAML; messages call it `name`. Throws `OpenapiError`. */
export function parseDocument(written: string, name: string): unknown {
  const text = written.replace(/^\uFEFF/, '')
  const start = text.trimStart().slice(0, 1)
  if (start === '') throw new OpenapiError(`${name} is empty.`)
  if (start === '<') throw new OpenapiError(`${name} is a page or XML, not an OpenAPI document in JSON or YAML.`)
  if (start !== '{' && start !== '[') return fromYaml(text, name)
  try {
    return JSON.parse(text)
  } catch (error) {
    const asYaml = text.length <= DOUBTFUL_CHARACTERS ? attempt(() => fromYaml(text, name)) : undefined
    if (asYaml !== undefined) return asYaml
    throw new OpenapiError(`${name} is not valid JSON: ${error instanceof Error ? error.message : error}.`)
  }
}

function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return undefined
  }
}

function fromYaml(text: string, name: string): unknown {
  if (text.length > YAML_CHARACTERS) {
    throw new OpenapiError(
      `${name} is YAML of ${megabytes(text.length)} MB, and at most ${megabytes(YAML_CHARACTERS)} MB are read: convert it to JSON.`,
    )
  }
  let problem: string | undefined
  try {
    // Looking for keys that stand twice would take time that grows with the square of their number.
    const document = parseYaml(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'silent', merge: true })
    problem = document.errors[0]?.message
    const value = problem === undefined ? document.toJS({ maxAliasCount: MAX_ALIASES }) : undefined
    if (problem === undefined && !(text.includes('*') && containsItself(value))) return value
    problem ??= 'an alias stands inside what it means'
  } catch (error) {
    // Too many aliases, or more levels than there is stack for.
    problem =
      error instanceof RangeError ? 'it is nested too deep' : error instanceof Error ? error.message : String(error)
  }
  throw new OpenapiError(`${name} is neither valid JSON nor YAML: ${problem}.`)
}

/** Whether a value contains itself. Recursive, like `toJS()`: the caller catches the RangeError of a deep value. */
function containsItself(value: unknown, open = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || done.has(value)) return false
  if (open.has(value)) return true
  open.add(value)
  const found = Object.values(value).some((inner) => containsItself(inner, open, done))
  open.delete(value)
  done.add(value)
  return found
}

const megabytes = (characters: number): number => Math.round(characters / 1024 / 1024)
