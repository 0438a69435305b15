import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { SetupError } from './setup-error.js'

const MINIMUM = 24

/**
 * Throws where the Node that npm scripts will run on is missing or too old.
 * @param {string} folder
 */
export function requireNode(folder) {
  const binary = join(folder, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const advice = 'Delete node_modules and try again; if npm is set to ignore-scripts, allow the scripts of "node".'
  let version
  try {
    version = execFileSync(binary, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    throw new SetupError(`Node ${MINIMUM} did not arrive: node_modules/.bin/node does not run. ${advice}`)
  }
  if (Number.parseInt(version.slice(1), 10) < MINIMUM) {
    throw new SetupError(`node_modules/.bin/node is ${version}; Toolyard needs ${MINIMUM} or newer. ${advice}`)
  }
}
