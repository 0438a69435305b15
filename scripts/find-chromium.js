import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/** What to do where there is no Chromium. */
export const NO_CHROMIUM =
  'No Chromium was found. Set TOOLYARD_CHROMIUM to the path of one, or put one in PATH, or let ' +
  '"npx playwright-core install --no-shell chromium" download one, or install the package "chromium" with apt-get.'

/**
 * Finds the Chromium that browser tests run in: TOOLYARD_CHROMIUM, else one in PATH, else the one that Playwright
 * downloaded.
 * @returns {Promise<string | undefined>} its path
 */
export async function findChromium() {
  const named = process.env.TOOLYARD_CHROMIUM
  if (named) return named
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of NAMES) {
      const file = join(folder, process.platform === 'win32' ? `${name}.exe` : name)
      if (folder !== '' && isProgram(file)) return file
    }
  }
  const downloaded = await playwrightsOwn()
  return downloaded !== undefined && isProgram(downloaded) ? downloaded : undefined
}

async function playwrightsOwn() {
  try {
    // Loaded late: it takes longer than everything else here, and is not there before the packages are installed.
    const { chromium } = await import('playwright-core')
    return chromium.executablePath()
  } catch {
    return undefined
  }
}

/** @param {string} file */
function isProgram(file) {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
