// Builds what the packages ship, without leftovers of an earlier build: the page, the docs site, and dist/ of the three packages.
// `node scripts/build.js core` builds @toolyard/core only, whose code is compiled with that of Toolyard.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cutCore } from './core-package.ts'
import { buildGuide } from './docs.js'
import { buildPage } from './setup/build-page.js'
import { installFolder } from './setup/install-folder.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** @param {string} folder */
function compile(folder) {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(folder, 'tsconfig.build.json')]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

if (process.argv[2] !== 'core') {
  await installFolder(join(root, 'web'), 'the page', () => {})
  await buildPage(root)
  await buildGuide(root)
}
// Toolyard is compiled against the declarations of the package.
compile(join(root, 'packages/mini'))
compile(root)
cutCore(root)
