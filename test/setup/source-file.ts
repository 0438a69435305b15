import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseSync } from 'oxc-parser'

/** One source file as the architecture test sees it. Paths are relative to the repository, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly SourceImport[]
  /** Names it exports; `type ` before those that exist for the compiler only; `default` and `*` as they are. */
  readonly exports: readonly string[]
}

export interface SourceImport {
  /** A path for a file of ours, else the specifier as written. */
  readonly target: string
  readonly ours: boolean
  readonly typeOnly: boolean
  /** By `import()`. */
  readonly lazy: boolean
}

/** Reads every TypeScript file below a folder; none where there is no such folder. */
export function readSources(root: string, folder: string): SourceFile[] {
  let names: string[] = []
  try {
    names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
  return names
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((path) => /\.tsx?$/.test(path) && !/(^|\/)(node_modules|dist)\//.test(path))
    .sort()
    .map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')))
}

/** Takes imports and exports from a source text: static, dynamic and re-exported ones alike. */
export function parseSource(path: string, text: string): SourceFile {
  const { module } = parseSync(path, text)
  const imported = (specifier: string, typeOnly: boolean, lazy = false): SourceImport => {
    const ours = specifier.startsWith('.')
    return { target: ours ? posix.join(posix.dirname(path), specifier) : specifier, ours, typeOnly, lazy }
  }
  const imports = module.staticImports.map(({ moduleRequest, entries }) =>
    imported(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType)),
  )
  for (const { moduleRequest } of module.dynamicImports) {
    const literal = /^['"`](.+)['"`]$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[1]
    if (literal !== undefined) imports.push(imported(literal, false, true))
  }
  const exports: string[] = []
  for (const { exportName, moduleRequest, isType } of module.staticExports.flatMap(({ entries }) => entries)) {
    if (moduleRequest !== null) imports.push(imported(moduleRequest.value, isType))
    const name = { Name: exportName.name ?? '', Default: 'default', None: '*' }[exportName.kind]
    exports.push(isType ? `type ${name}` : name)
  }
  return { path, text, imports, exports }
}
