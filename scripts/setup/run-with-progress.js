import { spawn } from 'node:child_process'

const EVERY_MS = 3_000
const TAIL_LINES = 15
const GRACE_MS = 2_000
const GROUPS = process.platform !== 'win32'

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

let interrupted = false

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    // What was started gets a moment to clean up; whoever asks twice gets the prompt back at once.
    if (interrupted || running.size === 0) process.exit(1)
    interrupted = true
    tellAll(signal)
    setTimeout(() => {
      tellAll('SIGKILL')
      process.exit(1)
    }, GRACE_MS)
  })
}

/**
 * Tells every command and whatever it started in turn: npm runs scripts that run npm.
 * @param {NodeJS.Signals} signal
 */
function tellAll(signal) {
  for (const child of running) {
    try {
      if (GROUPS && child.pid !== undefined) process.kill(-child.pid, signal)
      else child.kill(signal)
    } catch {
      // It has just ended.
    }
  }
}

/**
 * Runs a command with its output held back, and says every few seconds how far it is.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, shell?: boolean, progress: (lastLine: string) => string }} options
 * @returns {Promise<{ ok: boolean, tail: string }>} whether it went well, and the last lines of what it printed
 */
export function runWithProgress(command, args, { progress, ...options }) {
  return new Promise((resolve) => {
    const started = Date.now()
    /** @type {string[]} */
    let lines = []
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: GROUPS })
    running.add(child)
    const timer = setInterval(() => {
      const lastLine = lines.findLast((line) => line.trim() !== '') ?? ''
      console.log(`  ${Math.round((Date.now() - started) / 1000)} s: ${progress(lastLine.trim())}`)
    }, EVERY_MS)
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', (text) => {
        lines = `${lines.join('\n')}${text}`.split('\n').slice(-TAIL_LINES - 1)
      })
    }
    /** @param {boolean} ok */
    const end = (ok) => {
      clearInterval(timer)
      running.delete(child)
      if (interrupted) process.exit(1)
      resolve({ ok, tail: lines.join('\n').trim() })
    }
    child.on('error', (error) => {
      lines.push(error.message)
      end(false)
    })
    child.on('close', (code) => end(code === 0))
  })
}
