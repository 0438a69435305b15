import { spawn } from 'node:child_process'
import { networkCode } from '../../../core/network-code.ts'
import { ModelFileError } from '../../../models/model-files/model-file-error.ts'

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

/** What is kept of the words of npm. */
const MOST_CHARACTERS = 100_000

/** Installs what the lock file in `folder` says, by the npm of this machine; throws a `ModelFileError` that says why not. */
export async function npmCi(folder: string, signal: AbortSignal | undefined): Promise<void> {
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
      said = (said + text).slice(0, MOST_CHARACTERS)
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
