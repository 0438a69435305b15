// Installs what is missing before a command runs: `node scripts/setup.js start` or `… test`.
// Plain JavaScript for Node 20, with nothing but Node's own modules: it runs before there is anything else.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './setup/build-page.js'
import { ensureChromium } from './setup/ensure-chromium.js'
import { installFolder } from './setup/install-folder.js'
import { requireNode } from './setup/require-node.js'
import { SetupError } from './setup/setup-error.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Both are fetched at once: most of the time goes by waiting. */
async function install() {
  const both = await Promise.allSettled([
    installFolder(root, 'Toolyard', () => requireNode(root)),
    installFolder(join(root, 'web'), 'the page', () => {}),
  ])
  for (const one of both) if (one.status === 'rejected') throw one.reason
}

/** For each command, what it needs: the steps run in this order. */
const steps = {
  start: [install, () => buildPage(root)],
  test: [install, () => buildPage(root), () => ensureChromium(root)],
}

const command = process.argv[2] ?? ''
if (command !== 'start' && command !== 'test') {
  console.error(`scripts/setup.js takes "start" or "test", not "${command}".`)
  process.exit(2)
}

try {
  for (const step of steps[command]) await step()
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exit(1)
}
