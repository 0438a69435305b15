// `npm run bench`: installs what is missing, then runs the bench on the Node of the root package.
// Plain JavaScript for Node 20, like the set-up that it uses.
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installFolder } from '../scripts/setup/install-folder.js'
import { requireNode } from '../scripts/setup/require-node.js'
import { SetupError } from '../scripts/setup/setup-error.js'

const folder = dirname(fileURLToPath(import.meta.url))
const root = dirname(folder)
const bin = join(root, 'node_modules', '.bin')

try {
  await installFolder(root, 'Toolyard', () => requireNode(root))
  // npm has to run on that Node as well: it leaves out what does not fit the Node it runs on.
  process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
  await installFolder(folder, 'the bench (1.5 GB of peers)', () => {})
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exit(1)
}

const child = spawn('node', [join(folder, 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 1))
