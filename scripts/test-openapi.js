// `npm run test:openapi`: installs what the bench needs, thousands of real OpenAPI documents among it, and imports them all.
// Plain JavaScript for Node 20, like the set-up that it uses. Not part of `npm test`: it takes minutes and 800 MB.
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
  // npm has to run on that Node as well: it leaves out what does not fit the Node it runs on.
  process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
  await installFolder(join(root, 'bench'), 'the bench and the test of real OpenAPI documents (1.5 GB)', () => {})
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exit(1)
}

const args = [
  '--disable-warning=ExperimentalWarning',
  join(root, 'test', 'openapi', 'main.ts'),
  ...process.argv.slice(2),
]
const child = spawn('node', args, { stdio: 'inherit' })
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 1))
