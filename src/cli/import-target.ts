import { readFile, realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import type { Comparison } from '../openapi/compare-definitions.ts'
import { isObject, own, type RawObject } from '../openapi/documents.ts'
import { UsageError } from './usage-error.ts'

/** Where the definitions of an import go, and those that stand there now. */
export interface ImportTarget {
  readonly file: string
  /** From the folder of the configuration, as an include has it. */
  readonly name: string
  readonly before: readonly RawObject[]
}

/** Looks at a file beside the configuration; throws a `UsageError` where it cannot hold definitions. */
export async function importTarget(configuration: string, into: string): Promise<ImportTarget> {
  const folder = dirname(configuration)
  const file = resolve(folder, into)
  const name = relative(folder, file).split(sep).join('/')
  if (!name.endsWith('.json')) throw new UsageError(`--into takes the name of a .json file, not '${into}'.`)
  if (file === configuration) throw new UsageError('--into must not be the configuration itself: name another file.')
  if (await isOutside(file, folder)) {
    throw new UsageError(`--into '${into}' is outside the folder of the configuration, ${folder}: name a file in it.`)
  }
  return { file, name, before: await definitionsIn(file, name) }
}

/** What is there already may be a link to elsewhere. */
async function isOutside(file: string, folder: string): Promise<boolean> {
  const home = await realpath(folder).catch(() => folder)
  const way = relative(home, await nearest(file))
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)
}

async function nearest(file: string): Promise<string> {
  try {
    return await realpath(file)
  } catch (error) {
    const parent = dirname(file)
    if (parent === file) throw error
    return resolve(await nearest(parent), relative(parent, file))
  }
}

async function definitionsIn(file: string, name: string): Promise<RawObject[]> {
  const fault = (problem: string) => new UsageError(`${name} ${problem}: name another file with --into, or delete it.`)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw fault(`cannot be read (${error.code})`)
  })
  if (text === undefined) return []
  const value = parse(text)
  if (!Array.isArray(value) || !value.every(isObject)) throw fault('is there and holds no tool definitions')
  const foreign = value.find((definition) => own(own(definition, 'implementation'), 'type') !== 'http')
  if (foreign !== undefined) throw fault(`has tools that no import has made (${String(foreign.name)})`)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Throws where an import would replace the tools of another API. */
export function checkReplaced({ name, before }: ImportTarget, { removed, added }: Comparison): void {
  if (before.length === 0 || removed.length < before.length || added.length === 0) return
  throw new UsageError(
    `${name} holds ${before.length} other tool${before.length === 1 ? '' : 's'}, none of which this import has: name another file with --into, or delete it if it is out of date.`,
  )
}
