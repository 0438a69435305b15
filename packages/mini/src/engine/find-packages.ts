import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MiniError } from '../base/port.ts'

/** Where the optional packages are, as URLs to import. */
export interface Packages {
  /** The first that works is taken. */
  readonly runtimes: readonly string[]
  readonly tokenizers: string
}

const RUNTIME = 'onnxruntime-web'
/** Several times as fast and twice as large, so it is optional. */
const FASTER = 'onnxruntime-node'
const TOKENIZERS = '@huggingface/tokenizers'
/** Next to Toolyard, or in the project that it runs in: with npx these differ. */
const PLACES = (): string[] => [import.meta.url, pathToFileURL(join(process.cwd(), 'x.js')).href]

/** Finds the runtime of the model without loading it; throws if it isn't installed. */
export function findPackages(provider: string, places: readonly string[] = PLACES()): Packages {
  const runtimes = [find(FASTER, places), find(RUNTIME, places)].filter((one) => one !== undefined)
  const tokenizers = find(TOKENIZERS, places)
  if (runtimes.length > 0 && tokenizers !== undefined) return { runtimes, tokenizers }
  const missing = [...(runtimes.length === 0 ? [RUNTIME] : []), ...(tokenizers === undefined ? [TOKENIZERS] : [])]
  throw new MiniError(
    `The provider ${provider} runs its model by ${missing.join(' and ')}, not installed here: npm install ${missing.join(' ')}`,
  )
}

function find(name: string, places: readonly string[]): string | undefined {
  for (const place of places) {
    try {
      return pathToFileURL(createRequire(place).resolve(name)).href
    } catch {
      // Not there.
    }
  }
  return undefined
}
