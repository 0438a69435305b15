// The programs on the pages of the docs, as files that are type-checked together with the sources.
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TOP = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']

/**
 * Writes every TypeScript block that imports from toolyard to a folder, with a tsconfig.json that includes the blocks
 * and everything that the tsconfig.json of the repository includes.
 * @param {string} root the repository
 * @param {string} folder is created if it doesn't exist
 * @returns {string[]} the names of the files, which start with that of the page
 */
export function writeDocsPrograms(root, folder) {
  mkdirSync(folder, { recursive: true })
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const pages = [...TOP, ...docs.filter((name) => name.endsWith('.md')).map((name) => join('docs', name))]
  const files = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)]
      .filter(([, code = '']) => /from 'toolyard/.test(code))
      .map(([, code = ''], index) => {
        const name = `${page.replaceAll(/[\\/]/g, '-')}-${index + 1}.mts`
        writeFileSync(join(folder, name), code)
        return name
      }),
  )
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const paths = Object.fromEntries(
    Object.entries(exports).flatMap(([subpath, { 'toolyard-source': file }]) =>
      file === undefined ? [] : [[`toolyard${subpath.slice(1)}`, [join(root, file)]]],
    ),
  )
  const { include, exclude } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { paths, typeRoots: [join(root, 'node_modules/@types')], rootDir: '/' },
    files,
    include: include.map((/** @type {string} */ path) => join(root, path)),
    exclude: exclude.map((/** @type {string} */ path) => (path.startsWith('**') ? path : join(root, path))),
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  return files
}
