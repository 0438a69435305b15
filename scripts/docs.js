// `npm run docs`: builds docs/ into a static site in site/dist, which the server serves at /guide.
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installFolder } from './setup/install-folder.js'
import { runWithProgress } from './setup/run-with-progress.js'

/**
 * VitePress resolves packages from the folder of each page, so it works on a copy.
 * @param {string} root
 */
export async function buildGuide(root) {
  const site = join(root, 'site')
  await installFolder(site, 'the docs site', () => {})
  const pages = join(site, 'pages')
  rmSync(pages, { recursive: true, force: true })
  cpSync(join(root, 'docs'), pages, { recursive: true })
  const vitepress = join(site, 'node_modules/vitepress/bin/vitepress.js')
  const { ok, tail } = await runWithProgress(process.execPath, [vitepress, 'build'], {
    cwd: site,
    progress: () => 'building the docs site',
  })
  if (!ok) throw new Error(`The docs site could not be built:\n\n${tail}`)
  console.log('The docs site is built. The server serves it at /guide.')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildGuide(dirname(dirname(fileURLToPath(import.meta.url)))).catch((error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
