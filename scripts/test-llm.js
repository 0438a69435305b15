// `npm run test:llm`: installs an engine and the weights of a small language model, then tests `llama:` with them.
// Plain JavaScript for Node 20, like the set-up that it uses. Not part of `npm test`: it takes minutes and 700 MB.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installFolder } from './setup/install-folder.js'
import { requireNode } from './setup/require-node.js'
import { SetupError } from './setup/setup-error.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'test', 'llm')
const bin = join(root, 'node_modules', '.bin')

/** The machines that the engine was tried on. Its program for each is a package; those for graphics cards are left out. */
const MACHINES = ['linux-x64', 'linux-arm64']

try {
  const machine = `${process.platform}-${process.arch}`
  if (!MACHINES.includes(machine)) {
    throw new SetupError(`This test runs on ${MACHINES.join(' and ')} only. This machine is ${machine}.`)
  }
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  await installFolder(root, 'Toolyard', () => requireNode(root))
  // npm has to run on that Node as well: it leaves out what does not fit the Node it runs on.
  process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
  await installFolder(folder, 'the test with a language model (390 MB)', () => {}, [
    `@node-llama-cpp/${machine}@${dependencies['node-llama-cpp']}`,
  ])
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exit(1)
}

// In that folder, because the engine is looked for beside Toolyard and in the current folder.
const args = [join(folder, 'main.ts'), ...process.argv.slice(2)]
const child = spawn('node', args, { stdio: 'inherit', cwd: folder })
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 1))
