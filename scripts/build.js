// Makes dist/ for the package: JavaScript and declarations of src/, and nothing that an earlier build left.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (/** @type {string} */ path) => fileURLToPath(new URL(`../${path}`, import.meta.url))

rmSync(at('dist'), { recursive: true, force: true })
const args = [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')]
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
