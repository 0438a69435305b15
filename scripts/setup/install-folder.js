import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runWithProgress } from './run-with-progress.js'
import { SetupError } from './setup-error.js'
import { withLock } from './with-lock.js'

const STAMP = '.toolyard-setup'
const LOCK = '.toolyard-setup.lock'

/**
 * Installs the packages of one folder, unless they are already there: a stamp holds the hash of what they were
 * installed from, and is written last.
 * @param {string} folder has a package.json and a package-lock.json
 * @param {string} title what the packages are for
 * @param {() => void} verify throws a SetupError where the result is of no use
 * @param {readonly string[]} more what this machine needs beyond the package.json, as name@version
 */
export async function installFolder(folder, title, verify, more = []) {
  if (isInstalled(folder, verify)) return
  const modules = join(folder, 'node_modules')
  console.log(`Installing what ${title} needs. The first time takes a minute.`)
  mkdirSync(modules, { recursive: true })
  await withLock(join(modules, LOCK), async (cutOff) => {
    // Whoever held the lock may have done the work.
    if (isInstalled(folder, verify)) return
    rmSync(join(modules, STAMP), { force: true })
    // npm takes a folder with a package.json in it for an installed package, even if the rest never arrived.
    if (cutOff) clear(modules)
    const started = Date.now()
    await install(folder, more)
    verify()
    writeFileSync(join(modules, STAMP), hashOf(folder))
    console.log(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`)
  })
}

/**
 * @param {string} folder
 * @param {() => void} verify
 */
function isInstalled(folder, verify) {
  try {
    if (readFileSync(join(folder, 'node_modules', STAMP), 'utf8') !== hashOf(folder)) return false
    verify()
    return true
  } catch {
    return false
  }
}

/** @param {string} folder */
function hashOf(folder) {
  const hash = createHash('sha256')
  for (const name of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(folder, name))).update('\0')
  return hash.digest('hex')
}

/** @param {string} modules */
function clear(modules) {
  console.log('An earlier set-up was cut off; starting again with an empty node_modules.')
  for (const name of readdirSync(modules)) {
    if (name !== LOCK) rmSync(join(modules, name), { recursive: true, force: true })
  }
}

/**
 * @param {string} folder
 * @param {readonly string[]} more
 */
async function install(folder, more) {
  const packages = packagesOf(folder)
  const progress = () => {
    const there = packages.filter((path) => existsSync(join(folder, path, 'package.json'))).length
    if (there === 0) return `looking up ${packages.length} packages`
    if (there < packages.length) return `${there} of ${packages.length} packages`
    return 'all packages are there; running their install scripts'
  }
  // --no-save: a set-up changes nothing that git tracks. --include=dev: whatever NODE_ENV says, Node.js is in there.
  const args = ['install', '--no-save', '--include=dev', '--no-audit', '--no-fund', '--loglevel=warn', '--no-progress']
  args.push(...more)
  // A shell, because npm is a batch file on Windows; none of the arguments comes from outside.
  const { ok, tail } = await runWithProgress('npm', args, {
    cwd: folder,
    shell: process.platform === 'win32',
    progress,
  })
  if (!ok) {
    throw new SetupError(
      `npm install failed in ${folder}. It ended with:\n\n${tail}\n\nPut that right and run the command again.`,
    )
  }
}

/**
 * The packages of the lock file that belong on this machine.
 * @param {string} folder
 */
function packagesOf(folder) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  /** @param {string[] | undefined} wanted @param {string} have */
  const fits = (wanted, have) => wanted === undefined || wanted.includes(have)
  return Object.entries(lock.packages)
    .filter(
      ([path, { os, cpu, libc }]) =>
        path !== '' && fits(os, process.platform) && fits(cpu, process.arch) && fits(libc, 'glibc'),
    )
    .map(([path]) => path)
}
