// Cuts @toolyard/core out of the compiled code: it has everything that its entries reach, and `toolyard` imports it from there.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { readSources, type SourceFile } from '../test/setup/source-file.ts'

/** Started by their paths, as child processes. */
const CHILDREN = ['src/isolation/child.ts', 'src/core/schema/exact-check.ts']

/** Specifiers of files as the compiler writes them, in code and in declarations. */
const SPECIFIER = /(?<=(?:\bfrom |\bimport |\bimport\()(['"]))\.{1,2}\/[^'"]+(?=\1)/g

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** The entries of a package by their compiled files: `dist/library/index.js` → `.`. */
function entriesOf(manifest: Manifest): Map<string, string> {
  const entries = Object.entries(manifest.exports).map(
    ([entry, target]) => [posix.normalize(typeof target === 'string' ? target : target.default), entry] as const,
  )
  return new Map(entries.filter(([file]) => /^dist\/.*\.js$/.test(file)))
}

/** The sources of @toolyard/core: what its entries reach by static, lazy and type-only imports. */
export function coreSources(root: string, sources: readonly SourceFile[] = readSources(root, 'src')): SourceFile[] {
  const byPath = new Map(sources.map((file) => [file.path, file]))
  const entries = [...entriesOf(manifestOf(join(root, 'packages/core'))).keys()].map((file) =>
    file.replace(/^dist\/(.*)\.js$/, 'src/$1.ts'),
  )
  const reached = new Set([...entries, ...CHILDREN])
  const files: SourceFile[] = []
  for (const path of reached) {
    const file = byPath.get(path)
    if (file === undefined) throw new Error(`${path} is part of @toolyard/core, but there is no such file`)
    files.push(file)
    for (const { target, ours } of file.imports) if (ours) reached.add(target)
  }
  return files
}

/** Moves the files of @toolyard/core from dist/ to packages/core/dist/, and rewrites the imports of the others. */
export function cutCore(root: string): void {
  const home = join(root, 'packages/core')
  rmSync(join(home, 'dist'), { recursive: true, force: true })
  const core = new Set(coreSources(root).map(({ path }) => path.replace(/^src\/(.*)\.ts$/, 'dist/$1.js')))
  const manifest = manifestOf(home)
  const entries = entriesOf(manifest)
  const specifierOf = (file: string): string => {
    const entry = entries.get(file) ?? file.replace(/^dist/, './internal')
    return posix.join(manifest.name, entry)
  }
  const compiled = readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join('dist', name.replaceAll('\\', '/')))
    .filter((path) => /\.(js|d\.ts)$/.test(path))
  const codeOf = (path: string): string => path.replace(/\.d\.ts$/, '.js')
  const known = new Set(compiled.map(codeOf))
  for (const path of compiled) {
    const isCore = core.has(codeOf(path))
    const text = readFileSync(join(root, path), 'utf8').replace(SPECIFIER, (specifier) => {
      // In declarations, the compiler keeps the names of the sources.
      const named = specifier.replace(/\.ts$/, '.js')
      const target = posix.join(posix.dirname(path), named)
      // Text that only looks like an import.
      if (!known.has(target)) return specifier
      if (isCore && !core.has(target))
        throw new Error(`${path} is in @toolyard/core and imports ${target}, which is not`)
      return isCore || !core.has(target) ? named : specifierOf(target)
    })
    writeFileSync(join(root, path), text)
    if (!isCore) continue
    mkdirSync(dirname(join(home, path)), { recursive: true })
    renameSync(join(root, path), join(home, path))
  }
  // The entries that both packages have.
  for (const file of entriesOf(manifestOf(root)).keys()) {
    if (!core.has(file)) continue
    const text = `export * from '${specifierOf(file)}'\n`
    mkdirSync(dirname(join(root, file)), { recursive: true })
    for (const path of [file, file.replace(/\.js$/, '.d.ts')]) writeFileSync(join(root, path), text)
  }
}
