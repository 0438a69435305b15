import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runWithProgress } from './run-with-progress.js'
import { SetupError } from './setup-error.js'
import { withLock } from './with-lock.js'

/** Not in the folder of the page itself, which is served. */
const STAMP = join('node_modules', '.toolyard-page')
const LOCK = join('node_modules', '.toolyard-page.lock')
const MADE = new Set(['node_modules', 'dist'])

/**
 * Builds the page, unless nothing of what it is made from has changed since: a stamp holds the hash of that, and is
 * written last.
 * @param {string} root
 */
export async function buildPage(root) {
  const folder = join(root, 'web')
  if (isBuilt(folder)) return
  console.log('Building the page.')
  await withLock(join(folder, LOCK), async () => {
    // Whoever held the lock may have done the work.
    if (isBuilt(folder)) return
    rmSync(join(folder, STAMP), { force: true })
    const hash = hashOf(folder)
    const started = Date.now()
    await build(root, folder)
    writeFileSync(join(folder, STAMP), hash)
    console.log(`Built in ${Math.round((Date.now() - started) / 1000)} s.`)
  })
}

/** @param {string} folder */
function isBuilt(folder) {
  try {
    return (
      existsSync(join(folder, 'dist', 'index.html')) && readFileSync(join(folder, STAMP), 'utf8') === hashOf(folder)
    )
  } catch {
    return false
  }
}

/**
 * Over the names and contents of everything but what is made here.
 * @param {string} folder
 */
function hashOf(folder) {
  const hash = createHash('sha256')
  /** @param {string} path */
  const add = (path) => {
    const entries = readdirSync(join(folder, path), { withFileTypes: true })
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const inside = join(path, entry.name)
      if (entry.isDirectory()) {
        if (!MADE.has(entry.name)) add(inside)
      } else if (entry.isFile()) {
        hash
          .update(`${inside}\0`)
          .update(readFileSync(join(folder, inside)))
          .update('\0')
      }
    }
  }
  add('')
  return hash.digest('hex')
}

/**
 * By the Node that was installed, not by the one that runs this, which may be older.
 * @param {string} root
 * @param {string} folder
 */
async function build(root, folder) {
  const node = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js')
  const { ok, tail } = await runWithProgress(node, [vite, 'build'], { cwd: folder, progress: () => 'building' })
  if (!ok) {
    throw new SetupError(
      `The page could not be built. It ended with:\n\n${tail}\n\nPut that right and run the command again.`,
    )
  }
}
