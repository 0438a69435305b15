// `npm run conformance`: installs what is missing, then runs the suite on the Node of the root package.
// Plain JavaScript for Node 20, like the set-up that it uses.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installFolder } from './setup/install-folder.js'
import { requireNode } from './setup/require-node.js'
import { SetupError } from './setup/setup-error.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bench = join(root, 'bench')
const bin = join(root, 'node_modules', '.bin')

/** Lets the adapters of peers find the packages that are pinned and installed for the bench. */
function linkPeers() {
  const links = join(root, 'conformance', 'adapters', 'peers', 'node_modules')
  rmSync(links, { recursive: true, force: true })
  mkdirSync(links)
  const { dependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8'))
  // Packages of one scope share a folder.
  for (const name of new Set(Object.keys(dependencies).map((each) => each.split('/')[0] ?? each))) {
    symlinkSync(join(bench, 'node_modules', name), join(links, name), 'junction')
  }
}

try {
  await installFolder(root, 'Toolyard', () => requireNode(root))
  // npm has to run on that Node as well: it leaves out what does not fit the Node it runs on.
  process.env.PATH = `${bin}${delimiter}${process.env.PATH ?? ''}`
  await installFolder(bench, 'the bench (1.5 GB of peers)', () => {})
  linkPeers()
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  console.error(error.message)
  process.exit(1)
}

const child = spawn('node', [join(root, 'conformance', 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
// The set-up ends this process when it is told to end; the suite then ends with it, and all it has started.
process.on('exit', () => child.kill())
child.on('exit', (code) => process.exit(code ?? 1))
