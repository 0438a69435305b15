import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium, NO_CHROMIUM } from '../find-chromium.js'
import { runWithProgress } from './run-with-progress.js'

/**
 * Gets a Chromium for the browser tests where there is none. Where it cannot, it says so and lets the other tests run:
 * the browser tests then fail, with the same sentence.
 * @param {string} root
 */
export async function ensureChromium(root) {
  if (await findChromium()) return
  console.log('The browser tests need Chromium, and there is none. Trying the download of Playwright.')
  if (await download(root)) return
  if (canUseApt()) {
    console.log(
      'That gave none. Installing the Debian package "chromium", because this is Debian or Ubuntu and you are root:',
    )
    if (await installWithApt()) return
  }
  console.log(NO_CHROMIUM)
}

/** @param {string} root */
async function download(root) {
  const cli = join(root, 'node_modules', 'playwright-core', 'cli.js')
  const { ok } = await runWithProgress(process.execPath, [cli, 'install', '--no-shell', 'chromium'], {
    progress: () => 'downloading Chromium',
  })
  return ok && (await runs())
}

const canUseApt = () => process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync('/usr/bin/apt-get')

async function installWithApt() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    console.log(`  apt-get ${args.join(' ')}`)
    const { ok, tail } = await runWithProgress('apt-get', args, { env, progress: (lastLine) => lastLine })
    if (!ok) {
      console.log(`apt-get ${args[0]} failed. It ended with:\n\n${tail}\n`)
      return false
    }
  }
  return runs()
}

/** A download can be whole and still not start, for want of the system's libraries. */
async function runs() {
  const chromium = await findChromium()
  if (!chromium) return false
  try {
    execFileSync(chromium, ['--version'], { stdio: 'ignore', timeout: 20_000 })
    return true
  } catch {
    return false
  }
}
