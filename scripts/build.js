// Builds what the packages ship: the page, and dist/ of packages/mini and of Toolyard, without leftovers of an earlier build.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './setup/build-page.js'
import { installFolder } from './setup/install-folder.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

await installFolder(join(root, 'web'), 'the page', () => {})
await buildPage(root)
// Toolyard is compiled against the declarations of the package.
for (const folder of [join(root, 'packages/mini'), root]) {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(folder, 'tsconfig.build.json')]
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
  if (process.exitCode !== 0) break
}
