import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { SOURCED_ELSEWHERE, usesSourced } from '../core/environment.ts'
import { boundedDefinition } from './bounded-config.ts'
import { ConfigError } from './check-config.ts'
import type { Config } from './config.ts'

const MAX_BYTES = 256 * 1024 * 1024

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'permission denied',
}

/** The place of each entry in registries with included files. */
const places = new WeakMap<readonly unknown[], readonly string[]>()

/** The place of an entry: `tools.registry[2]`, or `tools/github.json[2]`. */
export function placeOf(registry: readonly unknown[], index: number): string {
  return places.get(registry)?.[index] ?? `tools.registry[${index}]`
}

/** The file that an entry includes; undefined if it is a definition. */
export function includedFile(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null || !Object.hasOwn(entry, 'include')) return undefined
  const { include, name, implementation } = entry as Readonly<Record<string, unknown>>
  return typeof include === 'string' && name === undefined && implementation === undefined ? include : undefined
}

/**
 * Replaces each `{"include": "tools/github.json"}` in `tools.registry` by the definitions in that file. Rejects with a
 * `ConfigError` if the file can't be read or is outside the folder of the configuration file.
 */
export async function includeTools(config: Config, file: string): Promise<Config> {
  const entries = config.tools?.registry ?? []
  if (!entries.some((entry) => includedFile(entry) !== undefined)) return config
  const registry: unknown[] = []
  const written: string[] = []
  for (const [index, entry] of entries.entries()) {
    const included = includedFile(entry)
    const place = `tools.registry[${index}]`
    if (included === undefined) {
      registry.push(entry)
      written.push(place)
      continue
    }
    const [beside] = Object.keys(entry as object).filter((key) => key !== 'include' && !key.startsWith('$'))
    if (beside !== undefined) {
      throw new ConfigError(
        `${file}: ${place} has '${beside}' beside its include, which has no effect: move it to the definitions in that file.`,
      )
    }
    const definitions = await readIncluded(included, file, place)
    for (const [at, definition] of definitions.entries()) {
      registry.push(definition)
      written.push(`${included}[${at}]`)
    }
  }
  places.set(registry, written)
  return { ...config, tools: { ...config.tools, registry } }
}

async function readIncluded(included: string, file: string, place: string): Promise<unknown[]> {
  const fault = (problem: string): ConfigError => new ConfigError(`${file}: ${place}.include '${included}': ${problem}`)
  const text = await readInside(included, file, fault)
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw fault(`not valid JSON: ${error instanceof Error ? error.message : error}. Fix it, or import it again.`)
  }
  if (!Array.isArray(value)) throw fault('it must contain an array of tool definitions.')
  const definitions = value.map(boundedDefinition)
  const sourced = definitions.findIndex((entry) => usesSourced(JSON.stringify(Object(entry).implementation ?? null)))
  if (sourced >= 0) throw fault(`${included}[${sourced}]: ${SOURCED_ELSEWHERE}.`)
  const nested = definitions.findIndex((entry) => includedFile(entry) !== undefined)
  if (nested < 0) return definitions
  throw fault(`${included}[${nested}] includes another file: move that entry to tools.registry of the configuration.`)
}

/** Resolves links before checking the folder. */
async function readInside(included: string, file: string, fault: (problem: string) => ConfigError): Promise<string> {
  const folder = dirname(resolve(file))
  try {
    const [real, home] = await Promise.all([realpath(resolve(folder, included)), realpath(folder)])
    const way = relative(home, real)
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) {
      throw fault('it is outside the folder of the configuration: move it there.')
    }
    const found = await stat(real)
    // Reading a pipe may never end.
    if (!found.isFile() && !found.isDirectory()) throw fault('it is not a file.')
    if (found.size > MAX_BYTES) throw fault('it is larger than 256 MB: split it.')
    return await readFile(real, 'utf8')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code } = error as NodeJS.ErrnoException
    const reason = REASONS[code ?? ''] ?? `it cannot be read (${code})`
    throw fault(`${reason}. Create it, or remove the entry.`)
  }
}
