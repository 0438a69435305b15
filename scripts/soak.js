// `npm run soak`: installs what is missing, then loads a real server for minutes on the Node of the root package.
// Plain JavaScript for Node 20, like the set-up that it uses.
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installFolder } from './setup/install-folder.js'
import { requireNode } from './setup/require-node.js'
import { SetupError } from './setup/setup-error.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = join(root, 'node_modules', '.bin')

try {
  await installFolder(root, 'Toolyard', () => requireNode(root))
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exit(1)
}

process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
const child = spawn('node', [join(root, 'bench', 'soak', 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 1))
