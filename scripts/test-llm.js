// `npm run test:llm`: installs an engine and the weights of a small language model, then tests `llama:` with them.
// Plain JavaScript for Node 20, like the set-up that it uses. Not part of `npm test`: it takes minutes and 700 MB.
import { spawn } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installFolder } from './setup/install-folder.js'
import { requireNode } from './setup/require-node.js'
import { SetupError } from './setup/setup-error.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'test', 'llm')
const bin = join(root, 'node_modules', '.bin')

try {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') {
    throw new SetupError(
      'The packages of test/llm are those for Linux on x64. Put the one of @node-llama-cpp for this machine into ' +
        'test/llm/package.json in place of linux-x64, and take this check out of scripts/test-llm.js.',
    )
  }
  await installFolder(root, 'Toolyard', () => requireNode(root))
  // npm has to run on Node 24 as well: it leaves out what does not fit the Node it runs on.
  process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
  await installFolder(folder, 'the test with a language model (390 MB)', () => {})
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
