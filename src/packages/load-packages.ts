import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LOCK_NAME } from '../config/load-config.ts'
import type { ToolRegistry } from '../core/execution/tool-registry.ts'
import { compareVersions, PACKAGE, packageOf } from '../core/execution/tool-view.ts'
import type { Log } from '../core/log.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { HttpImplementation } from '../kinds/http/definition/http-implementation.ts'
import { isolated, type ToolHandlers } from '../kinds/tool-handlers.ts'
import { calleesOf, handlerOf } from './contents.ts'
import { checked, NAME, openPackage, type Package, parsedJson, readPackageFolder, VERSION } from './package.ts'
import { fingerprintOf } from './signing.ts'
import { PackageError } from './tarball.ts'

const PACKAGES_FOLDER = 'toolyard_packages'

/** What `toolyard add` has confirmed about a package. */
export interface LockedPackage {
  readonly version: string
  /** The file or folder it was added from, or `npm:NAME`. */
  readonly source: string
  readonly hash: string
  readonly key: string
  /** The variables that it may read. */
  readonly granted: readonly string[]
}

type Lock = ReadonlyMap<string, LockedPackage>

const LOCK_SCHEMA = {
  type: 'object',
  required: ['format', 'packages'],
  additionalProperties: false,
  properties: {
    format: { const: 1 },
    packages: {
      type: 'object',
      propertyNames: { pattern: NAME.source },
      additionalProperties: {
        type: 'object',
        required: ['version', 'source', 'hash', 'key', 'granted'],
        additionalProperties: false,
        properties: {
          version: { type: 'string', pattern: VERSION.source },
          source: { type: 'string' },
          hash: { type: 'string', pattern: '^[0-9a-f]{64}$' },
          key: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
          granted: { type: 'array', items: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' } },
        },
      },
    },
  },
} as const

/** The folder of a package, beside the lock file. */
export const packageFolder = (lockFile: string, name: string): string =>
  join(dirname(lockFile), PACKAGES_FOLDER, ...name.split('/'))

/** The packages that were added; none if there is no lock file. Throws if it is damaged. */
export async function readLock(file: string): Promise<Lock> {
  const text = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new PackageError(`${file} cannot be read (${error.code})`)
  })
  if (text === undefined) return new Map()
  const { packages } = checked<{ packages: Record<string, LockedPackage> }>(parsedJson(text, file), LOCK_SCHEMA, file)
  return new Map(Object.entries(packages))
}

export function lockText(lock: Lock): string {
  const sorted = [...lock].sort(([one], [other]) => (one < other ? -1 : 1))
  return `${JSON.stringify({ format: 1, packages: Object.fromEntries(sorted) }, undefined, 2)}\n`
}

/** Why a package must not replace the one of its name that was added before. */
export function replaceProblem(lock: Lock, { name, version, key, hash }: Package): string | undefined {
  const before = lock.get(name)
  if (before === undefined) return undefined
  const again = `If that is right, run "toolyard remove ${name}" first`
  if (before.key !== key) {
    return `${name} is signed by another key than before: ${fingerprintOf(key)}, not ${fingerprintOf(before.key)}. ${again}`
  }
  if (compareVersions(version, before.version) < 0)
    return `${name} ${version} is older than ${before.version}, which is added. ${again}`
  if (version === before.version && hash !== before.hash) {
    return `${name} ${version} has other contents than the ${version} that is added. ${again}`
  }
  return undefined
}

/** Opens a package that was added. Throws if it isn't what was added. */
async function openAdded(lockFile: string, name: string, locked: LockedPackage): Promise<Package> {
  const opened = openPackage(await readPackageFolder(packageFolder(lockFile, name), true))
  if (opened.name === name && opened.hash === locked.hash && opened.key === locked.key) return opened
  throw new PackageError(`It is not the package in ${LOCK_NAME}: its hash or key has changed`)
}

/** A tool of a package, or a package that can't be loaded. */
export interface PackagedEntry {
  readonly place: string
  readonly entry: unknown
  /** Why it is left out. */
  readonly problem?: string | undefined
}

interface LoadParts {
  /** The entries of the configuration. */
  readonly local: readonly unknown[]
  readonly registry: ToolRegistry
  readonly handlers: ToolHandlers
  readonly log: Log
}

/**
 * The tools of all added packages. Each package is checked against the lock file first; one that was changed is left
 * out. Handlers are registered as isolated ones.
 */
export async function loadPackages(lockFile: string, parts: LoadParts): Promise<PackagedEntry[]> {
  const entries: PackagedEntry[] = []
  const taken = new Map(
    parts.local.flatMap((entry) => localName(entry) ?? []).map((name) => [name, 'the configuration']),
  )
  let lock: Lock
  try {
    lock = await readLock(lockFile)
  } catch (error) {
    return [{ place: LOCK_NAME, entry: undefined, problem: `No package is loaded: ${(error as Error).message}` }]
  }
  for (const [name, locked] of lock) {
    const place = `package ${name}`
    try {
      const opened = await openAdded(lockFile, name, locked)
      const left = leftOut(opened, locked, taken)
      for (const tool of opened.definitions) {
        const problem = left.get(tool.name)
        if (problem === undefined) taken.set(tool.name, place)
        entries.push({ place, problem, entry: problem === undefined ? prepared(tool, opened, lockFile, parts) : tool })
      }
    } catch (error) {
      const again = `Run "toolyard add ${locked.source}" again, or "toolyard remove ${name}"`
      entries.push({ place, entry: undefined, problem: `${(error as Error).message}. ${again}` })
    }
  }
  guardCallees(parts)
  return entries
}

/** The name of an entry of the configuration, also of one that is skipped. */
function localName(entry: unknown): string | undefined {
  const name: unknown = typeof entry === 'string' ? entry : (Object(entry) as { name?: unknown }).name
  return typeof name === 'string' ? name : undefined
}

/**
 * A tool that takes the name of a packaged one must not be called by pipelines and agents of that package: they are
 * removed until it is gone.
 */
function guardCallees({ registry, log }: LoadParts): void {
  const removed = new Set<ToolDefinition>()
  registry.onChange((name) => {
    const holder = packageOf(registry.get(name))
    if (!registry.has(name)) return
    for (const tool of registry.definitions()) {
      const own = packageOf(tool)
      if (own === undefined || own === holder || !calleesOf(tool)?.includes(name)) continue
      removed.add(tool)
      registry.unregister(tool.name)
      const problem = `It calls '${name}', which is now another tool than that of ${own}`
      log.warn({ tool: tool.name, place: `package ${own}`, problem }, 'Tool removed')
    }
    for (const tool of removed) {
      const callees = calleesOf(tool) ?? []
      const isOwn = (one: string) => !registry.has(one) || packageOf(registry.get(one)) === packageOf(tool)
      if (!callees.includes(name) || !callees.every(isOwn)) continue
      removed.delete(tool)
      registry.register(tool)
    }
  })
}

/** The tools that can't be loaded, and those that call them. */
function leftOut(
  { name, definitions, contents }: Package,
  { granted }: LockedPackage,
  taken: ReadonlyMap<string, string>,
): Map<string, string> {
  const left = new Map<string, string>()
  for (const { name: tool, variables } of contents.tools) {
    const holder = taken.get(tool)
    const missing = variables.find((variable) => !granted.includes(variable))
    if (holder !== undefined) {
      left.set(tool, `The name '${tool}' is used by ${holder}: a package never overrides another tool`)
    } else if (missing !== undefined) {
      left.set(tool, `The variable ${missing} is not granted to ${name}: add the package again with --grant ${missing}`)
    }
  }
  for (let before = -1; before !== left.size; ) {
    before = left.size
    for (const tool of definitions) {
      const callee = left.has(tool.name) ? undefined : calleesOf(tool)?.find((one) => left.has(one))
      if (callee !== undefined) left.set(tool.name, `It calls '${callee}', which is left out`)
    }
  }
  return left
}

/** Binds HTTP tools to the declared hosts, and handlers to their isolated modules. */
function prepared(
  tool: ToolDefinition,
  { name, contents }: Package,
  lockFile: string,
  { handlers }: LoadParts,
): object {
  const { implementation } = tool
  if (implementation.type === 'http') {
    const { allowed_domains = contents.hosts } = implementation as HttpImplementation
    return { ...tool, implementation: { ...implementation, allowed_domains }, [PACKAGE]: name }
  }
  const own = implementation.type === 'internal' ? handlerOf(tool) : undefined
  if (own === undefined) return { ...tool, [PACKAGE]: name }
  const [path, exported] = own
  const handler = `${name}/${path}#${exported}`
  handlers.register(handler, isolated(pathToFileURL(join(packageFolder(lockFile, name), path)), exported))
  return { ...tool, implementation: { ...implementation, handler }, [PACKAGE]: name }
}
