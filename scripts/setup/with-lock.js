import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readFileSync, rmSync, statSync, utimesSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const BEAT_MS = 2_000
const DEAD_AFTER_MS = 15_000

/**
 * Runs `work` while no other process does, by a file that its owner touches every two seconds. A file that nobody
 * touches any more was left by a set-up that was cut off: `work` is then told so, because what it left is half done.
 * @param {string} file
 * @param {(cutOff: boolean) => Promise<void>} work
 */
export async function withLock(file, work) {
  const mine = randomUUID()
  const cutOff = await take(file, mine)
  const beat = setInterval(() => touch(file, new Date()), BEAT_MS)
  const abandon = () => touch(file, new Date(0))
  process.on('exit', abandon)
  try {
    await work(cutOff)
  } finally {
    clearInterval(beat)
    process.off('exit', abandon)
    if (ownerOf(file) === mine) rmSync(file, { force: true })
  }
}

/**
 * @param {string} file
 * @param {string} mine
 * @returns {Promise<boolean>} whether the one before was cut off
 */
async function take(file, mine) {
  let cutOff = false
  let said = false
  for (;;) {
    if (create(file, mine)) {
      // Two that wait may both find the file dead; the one that came second has then replaced the first one's.
      if (cutOff) await sleep(200)
      if (ownerOf(file) === mine) return cutOff
    }
    if (isDead(file)) {
      cutOff = true
      rmSync(file, { force: true })
      continue
    }
    if (!said) console.log('Another set-up is at work in this folder; waiting for it.')
    said = true
    await sleep(500)
  }
}

/**
 * @param {string} file
 * @param {string} mine
 */
function create(file, mine) {
  try {
    const handle = openSync(file, 'wx')
    writeSync(handle, mine)
    closeSync(handle)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** @param {string} file */
function isDead(file) {
  try {
    return Date.now() - statSync(file).mtimeMs > DEAD_AFTER_MS
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** @param {string} file */
function ownerOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * @param {string} file
 * @param {Date} time
 */
function touch(file, time) {
  try {
    utimesSync(file, time, time)
  } catch {
    // Gone with node_modules: whoever deleted that wants a new set-up anyway.
  }
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined)
