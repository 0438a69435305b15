import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { writeWhole } from '../../config/write-whole.ts'
import { dataFolder } from '../../core/environment.ts'
import { compareVersions } from '../../core/execution/tool-view.ts'
import { silentLog } from '../../core/log.ts'
import { counted } from '../../core/schema/problem-words.ts'
import { limitsNetwork } from '../../isolation/launch.ts'
import { ToolHandlers } from '../../kinds/tool-handlers.ts'
import type { Contents } from '../../packages/contents.ts'
import { type LockedPackage, lockText, packageFolder, readLock, replaceProblem } from '../../packages/load-packages.ts'
import type { Package } from '../../packages/package.ts'
import { fingerprintOf, openSigner } from '../../packages/signing.ts'
import { latestVersion, packFolder, readCatalogue, readSource, type SourceParts } from '../../packages/sources.ts'
import { PackageError, writeTarball } from '../../packages/tarball.ts'
import { configFile, lockFile, readConfig, recordEvent } from '../common/open.ts'
import {
  actions,
  type Done,
  fitted,
  type GlobalOptions,
  Interrupt,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const PACK_HELP = `
Packs package.json, README.md, LICENSE and the folders tools, handlers, prompts, suites and mocks, and signs them with the
key of "toolyard keys signing". Publish the file with "npm publish FILE", or send it.

Example:
  $ toolyard pack fx-tools`

const ADD_HELP = `
Shows what the package may do and who signed it, and asks before it is added. Never runs code of the package. Run it again
with a newer version to update. In scripts: --yes, --trust FINGERPRINT if the key is new, --allow-code if it has code.

Examples:
  $ toolyard add fx-tools-1.0.0.tgz
  $ toolyard add npm:@acme/fx-tools@1.2.0 --grant FX_API_KEY
  $ toolyard add fx-tools-1.0.0.tgz --yes --trust SHA256:… --allow-code`

export function definePack(command: Command, terminal: Terminal, done: Done): void {
  command
    .argument('<folder>', 'the folder of the package')
    .option('--into <folder>', 'where to write the tarball', '.')
    .addHelpText('after', PACK_HELP)
    .action(actions(terminal, done)(refusing(pack)))
}

export function defineAdd(command: Command, terminal: Terminal, done: Done): void {
  command
    .argument('<source>', 'a tarball, a folder, or npm:NAME with or without @VERSION')
    .option('--grant <variables...>', 'variables of the environment that the package may read (default: none)')
    .option('--trust <fingerprint>', 'accept this key')
    .option('--allow-code', 'accept handlers, whose code may be able to reach any address')
    .option('-y, --yes', 'add it without asking')
    .addHelpText('after', ADD_HELP)
    .action(actions(terminal, done)(refusing(add)))
}

export function defineRemove(command: Command, terminal: Terminal, done: Done): void {
  command
    .argument('<name>', 'the name that "toolyard packages" shows')
    .action(actions(terminal, done)(refusing(remove)))
}

export function defineOutdated(command: Command, terminal: Terminal, done: Done): void {
  command.action(actions(terminal, done)(refusing(outdated)))
}

export function definePackages(command: Command, terminal: Terminal, done: Done): void {
  command.action(actions(terminal, done)(refusing(listPackages)))
}

/** Ends the message of a refused package like any other. */
const refusing =
  <Rest extends never[]>(run: (terminal: Terminal, ...rest: Rest) => Promise<number>) =>
  (terminal: Terminal, ...rest: Rest): Promise<number> =>
    run(terminal, ...rest).catch((error: unknown) => {
      throw error instanceof PackageError ? new Error(`${error.message}.`, { cause: error }) : error
    })

interface Sources extends SourceParts {
  readonly config: Config
  /** The lock file. */
  readonly file: string
  /** From here on Ctrl-C ends the process. */
  stopDownloads(): void
}

/** Runs work that may use the network; Ctrl-C ends it. */
async function withSources(
  terminal: Terminal,
  options: GlobalOptions,
  work: (parts: Sources) => Promise<number>,
): Promise<number> {
  const config = await readConfig(configFile(terminal, options.config), { secrets: false })
  const interrupt = new Interrupt()
  const { signal } = interrupt
  const parts = { config, signal, cwd: terminal.cwd, data: dataFolder(terminal.env) }
  try {
    return await work({ ...parts, file: lockFile(terminal, options.config), stopDownloads: () => interrupt.stop() })
  } catch (error) {
    if (interrupt.exitCode !== undefined) return interrupt.exitCode
    throw error
  } finally {
    interrupt.stop()
  }
}

/** `toolyard pack`: writes a signed tarball. */
async function pack(terminal: Terminal, folder: string, options: { readonly into: string }): Promise<number> {
  const opened = await packFolder(terminal.path(folder), dataFolder(terminal.env))
  await checkTools(opened, terminal.path(folder))
  const { name, version, files, key, contents } = opened
  const file = join(terminal.path(options.into), `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, writeTarball(files))
  const fingerprint = fingerprintOf(key)
  if (terminal.json) terminal.document({ file, name, version, fingerprint, files: [...files.keys()], ...contents })
  else {
    terminal.result(printableLine(file))
    terminal.note(`Packed ${name} ${version} with ${counted(contents.tools.length, 'tool')}, signed by ${fingerprint}.`)
  }
  return 0
}

/** Finds what would be skipped after the package was added, and suites that can't be run. */
async function checkTools({ definitions, contents }: Package, folder: string): Promise<void> {
  const [{ ToolManager }, { loadSuites }] = await Promise.all([
    import('../../app/tools/tool-manager.ts'),
    import('../../validation/load-suite.ts'),
  ])
  const handlers = new ToolHandlers()
  for (const { implementation } of definitions) {
    if (implementation.type === 'internal') handlers.register(String(implementation.handler), () => null)
  }
  const env = Object.fromEntries(contents.variables.map((name) => [name, 'any value that is long enough']))
  const manager = new ToolManager(
    { tools: { enabled: true, registry: definitions } },
    { handlers, env, log: silentLog },
  )
  try {
    const { skipped } = await manager.loadTools()
    for (const { name, problem } of skipped) throw new PackageError(`Tool '${name}': ${problem}`)
    await loadSuites(
      contents.suites.map((path) => join(folder, path)),
      { definitions },
    )
  } finally {
    await manager.close()
  }
}

interface AddOptions extends GlobalOptions {
  readonly grant?: readonly string[]
  readonly trust?: string
  readonly allowCode?: boolean
  readonly yes?: boolean
}

/** `toolyard add`: shows a package, asks, and adds it. */
const add = (terminal: Terminal, source: string, options: AddOptions): Promise<number> =>
  withSources(terminal, options, async (parts) => {
    const lock = await readLock(parts.file)
    const opened = await readSource(source, parts)
    parts.stopDownloads()
    const refusal = replaceProblem(lock, opened)
    if (refusal !== undefined) throw new PackageError(refusal)
    const granted = grantsFor(opened, options.grant ?? [])
    const signer = await openSigner(parts.data, false)
    const isOwn = opened.key === signer?.key
    const isKnown = isOwn || [...lock.values()].some(({ key }) => key === opened.key)
    const owner = isOwn ? 'your key' : isKnown ? 'a key that you have confirmed' : 'an unknown key'
    const fingerprint = fingerprintOf(opened.key)
    if (options.trust !== undefined && options.trust !== fingerprint) {
      throw new PackageError(`${opened.name} is signed by ${fingerprint}, not by ${printableLine(options.trust)}`)
    }
    if (!terminal.json) show(terminal, opened, { granted, owner, local: parts.config.tools?.registry ?? [] })
    await confirm(terminal, opened, { isKnown, options })
    await install(parts.file, opened, { source, granted })
    const { name, version, hash, contents } = opened
    const detail = { version, hash, fingerprint, granted, source }
    await recordEvent(terminal, options, 'package.added', { subject: name, detail })
    if (terminal.json) terminal.document({ added: true, name, version, hash, fingerprint, granted, ...contents })
    else terminal.note(`Added ${name} ${version}. A running server loads it with its next reload (SIGHUP).`)
    return 0
  })

function grantsFor({ name, contents }: Package, asked: readonly string[]): readonly string[] {
  const unused = asked.find((variable) => !contents.variables.includes(variable))
  if (unused === undefined) return [...new Set(asked)]
  const known = contents.variables.length === 0 ? 'none' : contents.variables.join(', ')
  throw new UsageError(printableLine(`${name} does not read the variable '${unused}'. It reads ${known}.`))
}

interface Shown {
  readonly granted: readonly string[]
  readonly owner: string
  readonly local: readonly unknown[]
}

const reachOf = ({ network }: Contents): string =>
  network || !limitsNetwork() ? 'can reach any address' : 'runs without network access'

/** What the package brings and may do. */
function show(terminal: Terminal, opened: Package, { granted, owner, local }: Shown): void {
  const { name, version, description, key, contents } = opened
  const line = (title: string, items: readonly string[], none = 'none') =>
    terminal.result(printableLine(`${`${title}:`.padEnd(13)}${items.length === 0 ? none : items.join(', ')}`))
  terminal.result(terminal.style('bold', printableLine(`${name} ${version}${description && `: ${description}`}`)))
  terminal.result(`${'signed by:'.padEnd(13)}${fingerprintOf(key)} (${owner})`)
  const rows = contents.tools.map(({ name: tool, kind, method, effect, description: about }) => {
    return [`  ${tool}`, method === undefined ? kind : `${kind} ${method}`, effect, fitted(about, 100)]
  })
  terminal.result('tools:')
  showTable(terminal, rows)
  line('hosts', contents.hosts)
  line('permissions', contents.permissions)
  const variables = contents.variables.map((one) => `${one} (${granted.includes(one) ? 'granted' : 'not granted'})`)
  line('variables', variables)
  if (contents.models.length > 0) line('models', contents.models)
  if (contents.code.length === 0) line('code', [])
  else line('code', [`${reachOf(contents)} (${contents.code.join(', ')})`])
  for (const part of ['prompts', 'suites', 'mocks'] as const) if (contents[part].length > 0) line(part, contents[part])
  const own = new Set(local.map((entry) => (typeof entry === 'string' ? entry : Object(entry).name)))
  for (const tool of contents.tools.filter((one) => own.has(one.name))) {
    terminal.note(`${tool.name} will be left out: the configuration has a tool of this name.`)
  }
}

interface Asked {
  readonly isKnown: boolean
  readonly options: AddOptions
}

/** Asks about an unknown key, about the package, and once more about code. Throws unless all are confirmed. */
async function confirm(
  terminal: Terminal,
  { name, key, contents }: Package,
  { isKnown, options }: Asked,
): Promise<void> {
  const fingerprint = fingerprintOf(key)
  const questions: string[] = []
  const missing: string[] = []
  const need = (isNeeded: boolean, question: string, option: string) => {
    if (!isNeeded) return
    questions.push(question)
    missing.push(option)
  }
  need(!isKnown && options.trust === undefined, `Trust the unknown key ${fingerprint}?`, `--trust ${fingerprint}`)
  need(!options.yes, `Add ${name}?`, '--yes')
  need(contents.code.length > 0 && !options.allowCode, `Its code ${reachOf(contents)}. Add it?`, '--allow-code')
  if (questions.length === 0) return
  if (terminal.json || !terminal.stdin.isTTY) {
    throw new UsageError(`${name} was not added: confirm it on a terminal, or with ${missing.join(' ')}.`)
  }
  const input = createInterface({ input: terminal.stdin })
  try {
    const lines = input[Symbol.asyncIterator]()
    for (const question of questions) {
      terminal.stderr.write(`${question} ${terminal.styleNote('dim', '[y/N]')} `)
      const { value } = await lines.next()
      if (!/^y(es)?$/i.test(String(value ?? '').trim())) throw new UsageError(`${name} was not added.`)
    }
  } finally {
    input.close()
  }
}

/** Writes the files before the lock file: a package that is written in part does not match its hash, and is not loaded. */
async function install(
  file: string,
  opened: Package,
  { source, granted }: { readonly source: string; readonly granted: readonly string[] },
): Promise<void> {
  // Read again: a person may have thought about it while others were added.
  const lock = await readLock(file)
  const refusal = replaceProblem(lock, opened)
  if (refusal !== undefined) throw new PackageError(refusal)
  const { name, version, hash, key, files } = opened
  const folder = packageFolder(file, name)
  const next = join(dirname(folder), `.${basename(folder)}.${randomUUID()}`)
  try {
    for (const [path, content] of files) {
      await mkdir(dirname(join(next, path)), { recursive: true })
      await writeFile(join(next, path), content, { flag: 'wx' })
    }
    await rm(folder, { recursive: true, force: true })
    await rename(next, folder)
  } finally {
    await rm(next, { recursive: true, force: true })
  }
  await writeWhole(file, lockText(new Map([...lock, [name, { version, source, hash, key, granted }]])))
}

/** `toolyard remove`: removes the package and its entry in the lock file. */
async function remove(terminal: Terminal, name: string, options: GlobalOptions): Promise<number> {
  const file = lockFile(terminal, options.config)
  const lock = await readLock(file)
  if (!lock.has(name)) {
    const known = lock.size === 0 ? 'There are no packages.' : `Packages: ${[...lock.keys()].join(', ')}.`
    throw new UsageError(printableLine(`There is no package '${name}'. ${known}`))
  }
  await writeWhole(file, lockText(new Map([...lock].filter(([one]) => one !== name))))
  await rm(packageFolder(file, name), { recursive: true, force: true })
  const { version, hash } = lock.get(name) as LockedPackage
  await recordEvent(terminal, options, 'package.removed', { subject: name, detail: { version, hash } })
  if (terminal.json) terminal.document({ removed: true, name })
  else terminal.note(`Removed ${name}. A running server unloads it with its next reload (SIGHUP).`)
  return 0
}

/** Collects what can't be read, so that the rest is still listed. */
class Problems {
  readonly all: string[] = []
  readonly #signal: AbortSignal

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  async unless<T>(reading: Promise<T>, fallback: T): Promise<T> {
    try {
      return await reading
    } catch (error) {
      if (this.#signal.aborted) throw error
      this.all.push(error instanceof PackageError ? `${error.message}.` : (error as Error).message)
      return fallback
    }
  }

  /** Tells the problems, and gives the exit code. */
  tell(terminal: Terminal): number {
    for (const problem of this.all) terminal.note(terminal.styleNote('red', printableLine(problem)))
    return this.all.length > 0 ? 1 : 0
  }
}

/** `toolyard outdated`: packages that npm or the catalogue has in a newer version; 1 if one of them can't be read. */
const outdated = (terminal: Terminal, options: GlobalOptions): Promise<number> =>
  withSources(terminal, options, async (parts) => {
    const lock = await readLock(parts.file)
    const problems = new Problems(parts.signal)
    const catalogue = await problems.unless(readCatalogue(parts.config, parts.file, parts.signal), [])
    const packages: { name: string; version: string; latest: string; source: string }[] = []
    for (const [name, { version, source: from }] of lock) {
      const listed = catalogue.find((entry) => entry.name === name)
      const isNpm = from.startsWith('npm:')
      const source = isNpm ? `npm:${name}` : (listed?.source ?? from)
      const latest = isNpm ? await problems.unless(latestVersion(source, parts), undefined) : listed?.version
      if (latest !== undefined && compareVersions(version, latest) < 0) packages.push({ name, version, latest, source })
    }
    if (terminal.json) terminal.document({ packages, problems: problems.all })
    else
      showTable(
        terminal,
        packages.map(({ name, version, latest, source }) => [name, version, latest, source]),
      )
    if (packages.length === 0 && problems.all.length === 0) terminal.note('No package has a newer version.')
    return problems.tell(terminal)
  })

/** `toolyard packages`: the added packages, and those of the catalogue; 1 if that can't be read. */
const listPackages = (terminal: Terminal, options: GlobalOptions): Promise<number> =>
  withSources(terminal, options, async ({ file, config, signal }) => {
    const packages = [...(await readLock(file))].map(([name, { version, source, key, granted }]) => {
      return { name, version, source, fingerprint: fingerprintOf(key), granted }
    })
    const problems = new Problems(signal)
    const catalogue = await problems.unless(readCatalogue(config, file, signal), [])
    if (terminal.json) terminal.document({ packages, catalogue, problems: problems.all })
    else {
      if (packages.length === 0) terminal.note('There are no packages. Add one with "toolyard add".')
      showTable(
        terminal,
        packages.map(({ name, version, source, fingerprint }) => [name, version, source, fingerprint]),
      )
      if (catalogue.length > 0) terminal.note(printableLine(`In the catalogue ${config.packages?.catalogue}:`))
      showTable(
        terminal,
        catalogue.map(({ name, version, source, description = '' }) => [name, version, source, description]),
      )
    }
    return problems.tell(terminal)
  })
