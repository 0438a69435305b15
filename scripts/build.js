// Makes what the package needs: the page, and dist/ with JavaScript and declarations of src/, and nothing that an earlier
// build left.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPage } from './setup/build-page.js'
import { installFolder } from './setup/install-folder.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

await installFolder(join(root, 'web'), 'the page', () => {})
await buildPage(root)
rmSync(join(root, 'dist'), { recursive: true, force: true })
const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.build.json')]
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
