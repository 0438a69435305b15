import { basename } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { checkConfig } from '../../config/check-config.ts'
import type { Config } from '../../config/config.ts'
import { configDiff, configText, editConfig } from '../../config/config-text.ts'
import { ConfigError, loadConfigFile } from '../../config/load-config.ts'
import { USUAL_PROVIDERS } from '../../config/model-settings.ts'
import type { Environment } from '../../core/environment.ts'
import { ProcessPool } from '../../isolation/process-pool.ts'
import { EXTRACTION_MEMORY_MB } from '../../knowledge/documents/extraction.ts'
import { PROVIDER_TYPES } from '../../models/provider.ts'
import type { Actor } from '../callers/audit-events.ts'
import type { Caller } from '../callers/callers.ts'
import type { Installation } from '../installation.ts'
import { NO_SECRETS_KEY } from '../secrets.ts'
import { type BuiltChange, buildChange, type ChangeContext, type SetupChange } from './build-change.ts'
import { disabledProviders, type Faults, faultsOf } from './config-faults.ts'
import { type ConfigState, changedMeanwhile, readOnlyReason, readState, restoreText, writeText } from './config-file.ts'
import { type CurlTool, curlTool } from './curl-command.ts'
import { type DroppedFile, ingestDocument } from './ingest-document.ts'
import { type OpenapiSource, openapiPreview } from './openapi-tools.ts'
import type { PrivateHost } from './private-hosts.ts'
import { type NewSecret, type SecretPlace, secretUses } from './references.ts'
import { writtenParts } from './removals.ts'
import { SetupError } from './setup-error.ts'
import { recordedTest, type TestedModel, type TestedProvider, testModel } from './test-model.ts'
import {
  addressesOf,
  checkAddresses,
  newAddresses,
  secretEnvironment,
  type TestedServer,
  testServers,
} from './test-servers.ts'

/** Tests and imports that run at the same time. */
const MAX_BUSY = 2
/** Characters of a change: the diff and the check of its tools take time. */
const MAX_CHANGE = 1024 * 1024

interface SetupOptions {
  /** Whether requests need no key: then only the user of this machine makes them. */
  readonly isLocal: () => boolean
}

export interface ChangeRequest {
  readonly change: SetupChange
  readonly write?: boolean
  /** The base of the preview. */
  readonly base?: string
}

export interface ChangeAnswer {
  readonly base: string
  readonly diff: string
  readonly text: string
  readonly warnings: readonly string[]
  readonly secrets: readonly SecretPlace[]
  /** Hosts of new tools that are blocked without the change, and that it may allow. */
  readonly private_hosts: readonly PrivateHost[]
  /** What the change adds, by name. */
  readonly added: BuiltChange['added']
  readonly written: boolean
  /** Why it is to be copied instead. */
  readonly reason?: string
  readonly backup?: string
}

/** Changes the configuration file of a running server. */
export class Setup {
  readonly #installation: Installation
  readonly #isLocal: () => boolean
  #extraction: ProcessPool | undefined
  #last: LastChange | undefined
  #busy = 0

  constructor(installation: Installation, { isLocal }: SetupOptions) {
    this.#installation = installation
    this.#isLocal = isLocal
  }

  /** What can be set up, and where. */
  async state() {
    const { files, secrets, config } = this.#installation
    const [reason, names, { isNew, text }] = await Promise.all([this.#reason(), secrets.names(), readState(files)])
    const noCommands = this.#noCommands()
    return {
      file: files.write === undefined ? null : basename(files.write),
      ...(isNew && files.write !== undefined && { creates: true }),
      writable: reason === undefined,
      ...(reason !== undefined && { reason }),
      secrets: {
        enabled: secrets.enabled,
        ...(!secrets.enabled && { reason: NO_SECRETS_KEY }),
        names,
        uses: secretUses(config, names),
      },
      payloads: this.#installation.payloads,
      ...writtenParts(looked(text)),
      variables: { any: this.#isLocal(), names: [...(config.page?.variables ?? [])] },
      commands: { allowed: noCommands === undefined, ...(noCommands !== undefined && { reason: noCommands }) },
      providers: PROVIDER_TYPES.map((type) => {
        const [, variable] = /^\$\{(\w+)\}$/.exec(USUAL_PROVIDERS[type]?.api_key ?? '') ?? []
        return { type, ...(variable !== undefined && { variable }), needs_key: variable !== undefined }
      }),
    }
  }

  /** Connects to MCP servers that aren't configured yet. Nothing stays connected. */
  async test(servers: SetupChange & { readonly kind: 'mcp_servers' }, signal: AbortSignal): Promise<TestedServer[]> {
    return this.#limited(async () => {
      const { config, env, clock, files } = this.#installation
      const context = await this.#context(await readState(files), signal)
      const { fragment, secrets } = await buildChange(servers, { ...context, written: {} })
      const { mcpServers } = attempt(() => checkConfig(fragment, 'The MCP server'), 'The MCP server')
      return testServers(mcpServers ?? {}, { config, env, clock, secrets, mayBePrivate: this.#isLocal(), signal })
    })
  }

  /** Asks a model that isn't configured yet. What can't be added can't be tested. Every test is an audit row. */
  testModel(change: TestedProvider, by: Actor, signal: AbortSignal): Promise<TestedModel> {
    const { config, env, clock, files, secrets, events } = this.#installation
    const test = async () => {
      const { fragment, secrets: added } = await buildChange(
        change,
        await this.#context(await readState(files), signal),
      )
      const known = { ...env, ...(await secrets.variables()), ...secretEnvironment(added) }
      const { providers = {} } = fragment
      const checked = attempt(() => checkConfig({ providers }, 'The provider'), 'The provider')
      return testModel(change, checked, { config, env: known, clock, mayBePrivate: this.#isLocal(), signal })
    }
    return this.#limited(() => recordedTest(change, { by, events }, test))
  }

  async curl(command: string): Promise<CurlTool> {
    const { tool, ...more } = curlTool(command, await this.#installation.secrets.names())
    const registry = this.#installation.manager.getRegistry()
    return { tool: { ...tool, name: freeName(tool.name, (name) => registry.has(name)) }, ...more }
  }

  openapi(source: OpenapiSource, signal: AbortSignal) {
    return this.#limited(() =>
      openapiPreview(source, { config: this.#installation.config, isLocal: this.#isLocal(), signal }),
    )
  }

  /** Shows what a change would write, or writes it. Every attempt to write is an audit row. */
  async change(request: ChangeRequest, by: Actor, signal: AbortSignal): Promise<ChangeAnswer> {
    if (request.write !== true) {
      const show = async () => (await this.#prepare(request, signal)).answer
      return request.change.kind === 'openapi' ? this.#limited(show) : show()
    }
    return this.#installation.changes.add(() => this.#write(request, by, signal))
  }

  /** Takes the last written change back, unless somebody has changed the file since. New secrets stay in the store. */
  undo(backup: string, by: Actor): Promise<void> {
    return this.#installation.changes.add(() => this.#undo(backup, by))
  }

  /** Stores a file in a collection. */
  async document(file: DroppedFile, caller: Caller, signal: AbortSignal) {
    const installation = this.#installation
    this.#extraction ??= new ProcessPool({ memoryMb: EXTRACTION_MEMORY_MB, size: 2, log: installation.log })
    const context = { ...installation.callers.context(caller, 'rest'), signal }
    return ingestDocument(file, context, { installation, isolate: this.#extraction })
  }

  async close(): Promise<void> {
    await this.#installation.changes.ended()
    await this.#extraction?.close()
  }

  async #limited<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy >= MAX_BUSY) throw new SetupError(429, 'The server is busy with other setups: try again in a moment')
    this.#busy++
    try {
      return await work()
    } finally {
      this.#busy--
    }
  }

  async #write(request: ChangeRequest, by: Actor, signal: AbortSignal): Promise<ChangeAnswer> {
    return this.#recorded(request.change.kind, by, async () => {
      const { answer, built, state, text } = await this.#prepare(request, signal)
      const { reason } = answer
      const done = reason === undefined ? await this.#apply(built.secrets, state, text, by) : { reason }
      const { added, removed } = built
      return {
        done: { ...answer, ...done, written: !('reason' in done) },
        detail: { added, ...(removed && { removed }) },
      }
    })
  }

  async #undo(backup: string, by: Actor): Promise<void> {
    await this.#recorded('undo', by, async () => {
      const state = await readState(this.#installation.files)
      const last = this.#last
      if (last?.backup !== backup) {
        throw new SetupError(409, 'Only the last change can be undone: to undo others, restore a backup by hand')
      }
      if (last.after !== state.text) {
        throw new SetupError(409, `The configuration has changed since then: restore ${backup} by hand`)
      }
      const reason = await this.#reason()
      if (!this.#isLocal()) await this.#checkRestored(last)
      const done = reason === undefined ? await this.#apply([], state, last.before, by) : { reason }
      if ('reason' in done) throw new SetupError(422, done.reason)
      this.#last = undefined
      return { done: { written: true }, detail: {} }
    })
  }

  /** Addresses that the change has removed may come back, but not with secrets that lead elsewhere by now. */
  async #checkRestored({ before, removed }: LastChange): Promise<void> {
    const config = await this.#read(before)
    const addresses = await newAddresses(this.#installation, this.#installation.config, config)
    await checkAddresses(
      addresses.filter((address) => !removed.includes(address)),
      config,
    )
  }

  /** Every attempt to write is an audit row. */
  async #recorded<Done extends { readonly written: boolean; readonly reason?: string }>(
    kind: string,
    by: Actor,
    attempted: () => Promise<{ readonly done: Done; readonly detail: object }>,
  ): Promise<Done> {
    const { events, files } = this.#installation
    const subject = files.write === undefined ? undefined : basename(files.write)
    try {
      const { done, detail } = await attempted()
      const { written, reason } = done
      await events.record('config.changed', {
        ...{ by, subject, failed: !written },
        detail: { kind, ...detail, written, ...(reason !== undefined && { reason }) },
      })
      return done
    } catch (error) {
      // Without the message: it may quote what was sent.
      const refused = error instanceof SetupError ? error.status : 500
      await events.record('config.changed', { by, subject, failed: true, detail: { kind, written: false, refused } })
      throw error
    }
  }

  /** Stores the secrets, writes the file and reloads; takes everything back if that fails. */
  async #apply(added: readonly NewSecret[], state: ConfigState, text: string, by: Actor) {
    const { secrets, files, clock } = this.#installation
    const file = files.write as string
    const stored: string[] = []
    const undo = () => Promise.all(stored.map((name) => secrets.remove(name, by)))
    try {
      for (const { name, value } of added) {
        if (!(await secrets.set(name, value, by, { fresh: true }))) {
          throw new SetupError(409, `There is already a secret ${name}: look at the change again`)
        }
        stored.push(name)
      }
      const before = this.#installation.config
      const done = await writeText(file, state, text, clock.wall())
      if ('reason' in done) {
        await undo()
        return done
      }
      try {
        await this.#installation.reload(file)
      } catch (error) {
        await restoreText(file, state, { ...done, written: text })
        throw refused(error, file)
      }
      const { backup } = done
      const removed =
        backup === undefined ? [] : await newAddresses(this.#installation, this.#installation.config, before)
      this.#last = backup === undefined ? undefined : { backup, before: state.text, after: text, removed }
      return done
    } catch (error) {
      await undo()
      throw error
    }
  }

  async #prepare({ change, base, write = false }: ChangeRequest, signal: AbortSignal): Promise<Prepared> {
    const { files, secrets, env } = this.#installation
    const state = await readState(files)
    const name = files.write === undefined ? 'toolyard.config.json' : basename(files.write)
    if (base !== undefined && base !== state.base) throw changedMeanwhile(name)
    const context = { ...(await this.#context(state, signal)), isPreview: !write }
    const built = await buildChange(change, context)
    if (built.secrets.length > 0 && !secrets.enabled) throw new SetupError(422, NO_SECRETS_KEY)
    if (JSON.stringify(built.fragment).length > MAX_CHANGE) {
      throw new SetupError(422, 'The change is longer than 1 MB: add fewer tools at once, or change the file by hand')
    }
    const known = { ...env, ...secretEnvironment(built.secrets) }
    const text = attempt(() => editConfig(state.text, built.edits, name), name)
    const warnings = await this.#check(state, text, known, signal)
    if (!this.#isLocal()) await checkAddresses(addressesOf(built.fragment, context.config, known), context.config)
    const reason = await this.#reason()
    const diff = configDiff(state.text, text, name)
    // Leaves time for other requests.
    await nextTurn()
    const answer: ChangeAnswer = {
      base: state.base,
      diff,
      // A removal has no text to copy, only lines to remove.
      text: built.removed === undefined ? configText(built.fragment) : '',
      warnings: [...(state.isNew ? [created(name)] : []), ...built.warnings, ...warnings],
      secrets: built.places,
      private_hosts: built.privateHosts ?? [],
      added: built.added,
      written: false,
      ...(reason !== undefined && { reason }),
    }
    return { answer, built, state, text }
  }

  async #context({ text }: ConfigState, signal: AbortSignal): Promise<ChangeContext> {
    const { secrets, config } = this.#installation
    return {
      written: parsed(text),
      config,
      taken: await secrets.names(),
      noCommands: this.#noCommands(),
      isLocal: this.#isLocal(),
      mayName: (variable) => this.#mayName(variable),
      signal,
    }
  }

  /** Loads the configuration as the server would. A change must not break what works, or add what doesn't. */
  async #check({ text: before }: ConfigState, text: string, env: Environment, signal: AbortSignal): Promise<string[]> {
    const config = await this.#read(text)
    signal.throwIfAborted()
    const old = await this.#read(before).then(
      (known) => faultsOf(known, env),
      (): Faults => ({ problems: [], broken: [] }),
    )
    const found = await faultsOf(config, env)
    const problems = found.problems.filter((problem) => !old.problems.includes(problem))
    if (problems.length > 0) throw new SetupError(422, problems.slice(0, 3).join('. '))
    const disabled = disabledProviders(this.#installation.config, env)
    return [
      ...found.broken.filter((warning) => !old.broken.includes(warning)).slice(0, 3),
      ...disabledProviders(config, env).filter((warning) => !disabled.includes(warning)),
    ]
  }

  /** The configuration that the file would have with this text. */
  async #read(text: string): Promise<Config> {
    const { files } = this.#installation
    const file = files.write ?? files.read ?? 'toolyard.config.json'
    try {
      return (await loadConfigFile(file, { text, secrets: 'kept' })).config
    } catch (error) {
      throw refused(error, file)
    }
  }

  /** Why changes can't be written here; undefined if they can. */
  async #reason(): Promise<string | undefined> {
    const { files, storage } = this.#installation
    if (files.write === undefined)
      return 'The configuration does not come from a file: copy the change to where it comes from'
    const { servers = 1 } = (await storage.leases?.company().catch(() => undefined)) ?? {}
    if (servers > 1) {
      return `${servers} servers share this installation, each with its own file: copy the change to all of them, and reload them`
    }
    const reason = await readOnlyReason(files.write)
    return reason && `${reason}: copy the change, and reload the server`
  }

  #noCommands(): string | undefined {
    if (this.#isLocal() || this.#installation.config.page?.allow_commands === true) return undefined
    return 'Commands run programs on this machine: the operator can allow them with "page": {"allow_commands": true} in the configuration'
  }

  /** The value of a variable could be sent anywhere. */
  #mayName(variable: string): boolean {
    if (!/^[A-Za-z_]\w{0,127}$/.test(variable) || /^toolyard_/i.test(variable)) return false
    return this.#isLocal() || this.#installation.config.page?.variables?.includes(variable) === true
  }
}

/** The last change that was written. */
interface LastChange {
  readonly backup: string
  /** The text of the file before and after it. */
  readonly before: string
  readonly after: string
  /** The addresses that the configuration had before it only. */
  readonly removed: readonly string[]
}

interface Prepared {
  readonly answer: ChangeAnswer
  readonly built: BuiltChange
  readonly state: ConfigState
  readonly text: string
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text.replace(/^\uFEFF/, '')))
  } catch {
    throw new SetupError(422, 'The configuration file is not valid JSON: correct it first')
  }
}

/** Of a file that isn't valid, nothing is known. */
function looked(text: string): Readonly<Record<string, unknown>> {
  try {
    return parsed(text)
  } catch {
    return {}
  }
}

function attempt<T>(work: () => T, file: string): T {
  try {
    return work()
  } catch (error) {
    throw refused(error, file)
  }
}

/** The name, or the name with the first number that makes it free. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name
  for (let next = 2; isTaken(free); next++) free = `${name.slice(0, 60)}_${next}`
  return free
}

const created = (name: string): string => `The server creates ${name} with the configuration that it uses now.`

/** Without the folder of the file. */
function refused(error: unknown, file: string): unknown {
  if (!(error instanceof ConfigError)) return error
  return new SetupError(422, error.message.replaceAll(file, basename(file)).replace(/\.$/, ''))
}
