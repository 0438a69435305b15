import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import type { SourceFile } from './source-file.ts'

/** The arrows: what each folder of src may import besides itself. */
const GROUND = ['core', 'isolation', 'models', 'storage', 'mcp', 'telemetry']
const FEATURES = ['chat', 'knowledge', 'validation']
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  isolation: ['core'],
  models: ['core', 'isolation'],
  storage: ['core'],
  mcp: ['core'],
  telemetry: ['core'],
  kinds: GROUND,
  openapi: ['core', 'kinds'],
  chat: [...GROUND, 'kinds'],
  knowledge: [...GROUND, 'kinds', 'chat'],
  validation: [...GROUND, 'kinds', 'chat'],
  config: ['core', 'models', 'mcp', 'kinds', ...FEATURES],
  packages: ['core', 'kinds', 'config'],
  app: [...GROUND, 'kinds', 'openapi', ...FEATURES, 'config', 'packages'],
  operations: [...GROUND, 'kinds', ...FEATURES, 'config', 'packages', 'app'],
  server: [...GROUND, 'kinds', ...FEATURES, 'config', 'packages', 'app', 'operations', 'underneath.ts'],
  cli: [...GROUND, 'kinds', 'openapi', ...FEATURES, 'config', 'packages', 'app', 'operations', 'server'],
  library: ['core', 'isolation', 'models', 'mcp', 'kinds', 'chat', 'config', 'app'],
  testing: [...GROUND, 'kinds', ...FEATURES],
  'underneath.ts': [...GROUND, 'kinds', ...FEATURES, 'config', 'app'],
  'on-demand.ts': ['underneath.ts'],
  'index.ts': [...GROUND, 'kinds', ...FEATURES, 'config', 'app', 'library', 'on-demand.ts'],
}

/** The modules of Node that read no file, no socket, no process and no environment. */
const PURE_BUILTINS = ['node:async_hooks', 'node:buffer', 'node:crypto', 'node:path', 'node:perf_hooks']
const NOT_PURE = /\bprocess\.env\b|(?<![.\w])fetch\(/

const isTest = (path: string): boolean => /\.test\.tsx?$|\/fixtures\//.test(path)
const isShipped = (path: string): boolean => /^(?:src|packages)\//.test(path)
const folderOf = (path: string): string | undefined => /^src\/([^/]+)/.exec(path)?.[1]

/** Each rule gives a sentence for everything that breaks it. */
type Rule = (files: readonly SourceFile[]) => string[]

/** Imports follow the arrows. Tests may use `testing/` as well. */
export const arrows: Rule = (files) =>
  files.flatMap(({ path, imports }) => {
    const from = folderOf(path)
    if (from === undefined) return []
    const allowed = MAY_IMPORT[from]
    if (allowed === undefined) return [`${path} is in a folder that has no place in the arrows`]
    return imports
      .filter(({ ours }) => ours)
      .flatMap(({ target }) => {
        const to = folderOf(target)
        if (to === undefined) return [`${path} imports ${target}, outside src`]
        if (from === 'kinds' && to === 'mcp' && !/^src\/kinds\/(fixtures\/)?mcp-/.test(path)) {
          return [`${path} imports ${target}; of the kinds only mcp may`]
        }
        if (to === from || allowed.includes(to) || (to === 'testing' && isTest(path))) return []
        return [`${path} imports ${target}; ${from} may not import ${to}`]
      })
  })

/** A package imports nothing of Toolyard: its caller hands it what it needs. Its tests may use Toolyard. */
export const packagesStandAlone: Rule = (files) =>
  files.flatMap(({ path, imports }) => {
    const home = /^packages\/[^/]+\//.exec(path)?.[0]
    if (home === undefined || isTest(path)) return []
    return imports
      .filter(({ target, ours }) => (ours ? !target.startsWith(home) : /^toolyard(\/|$)/.test(target)))
      .map(({ target }) => `${path} imports ${target}, outside ${home}`)
  })

/** Toolyard runs without its optional packages: it loads them by name, at run time. */
export const packagesAreOptional: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('src/') && !isTest(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, typeOnly, lazy }) => target.startsWith('@toolyard/') && !typeOnly && !lazy)
        .map(({ target }) => `${path} imports ${target} other than by import()`),
    )

const LIGHT = /^src\/(core|library)\/|^src\/on-demand|^src\/kinds\/tool-handlers|^src\/models\/model-error/

/** `import 'toolyard'` is light: besides the core, the library loads nothing before it is used. */
export const libraryIsLight: Rule = (files) =>
  files
    .filter(({ path }) => /^src\/(library\/(tool|toolyard|log|configured|index)|index)\.ts$/.test(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(
          ({ target, typeOnly, lazy }) => !typeOnly && !lazy && !target.startsWith('node:') && !LIGHT.test(target),
        )
        .map(({ target }) => `${path} imports ${target} other than by import()`),
    )

const coreOf = (files: readonly SourceFile[]): SourceFile[] =>
  files.filter(({ path }) => path.startsWith('src/core/') && !isTest(path))

/** Of Node the core imports what is pure. */
export const coreImportsNoIo: Rule = (files) =>
  coreOf(files).flatMap(({ path, imports }) =>
    imports
      .filter(({ target }) => target.startsWith('node:') || builtinModules.includes(target))
      .filter(({ target }) => !PURE_BUILTINS.includes(target))
      .map(({ target }) => `${path} imports ${target}`),
  )

/** What needs no import is not used either. */
export const coreLooksNowhere: Rule = (files) =>
  coreOf(files)
    .filter(({ text }) => NOT_PURE.test(text))
    .map(({ path, text }) => `${path} uses ${NOT_PURE.exec(text)?.[0]}`)

/** The page knows the server through HTTP and types. */
export const webImportsTypes: Rule = (files) =>
  files
    .filter(({ path }) => path.startsWith('web/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, typeOnly }) => !typeOnly && (target.startsWith('src/') || /^toolyard(\/|$)/.test(target)))
        .map(({ target }) => `${path} imports more than types from ${target}`),
    )

/** Statements of SQL that are put together from values, by a template or by `+`. */
const SQL = /(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s.+\sSET|DELETE\s+FROM|CREATE\s+TABLE|DROP\s+TABLE)\s/i
const PUT_TOGETHER = /`[^`]*`|(['"])(?:(?!\1).)*\1\s*\+/gs

/** Values reach a database as bound parameters, never as part of a statement. */
export const boundParameters: Rule = (files) =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(PUT_TOGETHER)]
      .filter(([piece]) => SQL.test(piece) && (piece.startsWith('`') ? piece.includes('${') : true))
      .map(([piece]) => `${path} puts a statement together: ${piece.slice(0, 60)}`),
  )

export const noDefaultExports: Rule = (files) =>
  files
    .filter(({ path, exports }) => isShipped(path) && exports.includes('default'))
    .map(({ path }) => `${path} has a default export`)

export const noLongFiles: Rule = (files) =>
  files
    .filter(({ path, text }) => isShipped(path) && text.split('\n').length - 1 > 500)
    .map(({ path }) => `${path} is longer than 500 lines`)

const shippedOf = (files: readonly SourceFile[]): SourceFile[] =>
  files.filter(({ path }) => isShipped(path) && !isTest(path))

const MAX_FILES_IN_FOLDER = 20

export const noCrowdedFolders: Rule = (files) =>
  [...Map.groupBy(shippedOf(files), ({ path }) => posix.dirname(path))]
    .filter(([, group]) => group.length > MAX_FILES_IN_FOLDER)
    .map(([folder, group]) => `${folder} has ${group.length} files, among them ${group.at(-1)?.path}`)

/** Two folders beside each other, or a folder and the files beside it, with imports in both directions. */
export const noMutualFolders: Rule = (files) => {
  const shipped = shippedOf(files)
  const paths = new Set(shipped.map(({ path }) => path))
  /** By arrow: an import that makes it. */
  const found = new Map<string, string>()
  for (const { path, imports } of shipped) {
    for (const { target } of imports.filter(({ ours, target }) => ours && paths.has(target))) {
      const [from, to] = [path.split('/'), target.split('/')]
      const depth = from.findIndex((part, index) => part !== to[index])
      // The files of a folder count as one.
      const place = (parts: string[]) => [...parts.slice(0, depth), parts[depth + 1] ? parts[depth] : '*'].join('/')
      if (depth >= 0 && place(from) !== place(to)) found.set(`${place(from)} → ${place(to)}`, `${path} → ${target}`)
    }
  }
  return [...found].flatMap(([arrow, example]) => {
    const [from = '', to = ''] = arrow.split(' → ')
    const back = found.get(`${to} → ${from}`)
    return from < to && back !== undefined ? [`${from} ↔ ${to}: ${example}, ${back}`] : []
  })
}

/** A test of one aspect says which: `process-pool.queue.test.ts`. */
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*((\.[a-z0-9-]+)?\.test)?(\.tsx?)?$/

export const kebabCaseNames: Rule = (files) =>
  files
    .filter(({ path }) => isShipped(path))
    .filter(({ path }) => !path.split('/').every((part) => KEBAB_CASE.test(part)))
    .map(({ path }) => `${path} is not named in kebab-case`)

/** No file imports itself over others, not even for types. */
export const noCycles: Rule = (files) => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) found.push([...trail.slice(start), path].join(' → '))
    if (start >= 0 || done.has(path)) return
    for (const { target } of byPath.get(path)?.imports ?? []) if (byPath.has(target)) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  return found
}
