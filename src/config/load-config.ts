import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isSecretName, keepSourced, SOURCED, SOURCED_PREFIX, secretVariable } from '../core/environment.ts'
import { RefusedDefinition } from './bounded-config.ts'
import { bounded, ConfigError, checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { includeTools } from './include-tools.ts'

export { ConfigError } from './check-config.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, not a file',
  EACCES: 'permission denied',
}

/** Lists the added packages, beside the configuration file. */
export const LOCK_NAME = 'toolyard.lock.json'

export interface LoadConfigOptions {
  /**
   * False: files of `${file:…}` aren't read and commands of `${cmd:…}` don't run. `kept`: the values of the last time
   * are used.
   */
  readonly secrets?: boolean | 'kept'
  /** Instead of the contents of the file. */
  readonly text?: string
}

/** Reads and checks a configuration file, its includes, and the secrets that it takes from files and commands. */
export async function loadConfigFile(
  file: string,
  { secrets = true, text }: LoadConfigOptions = {},
): Promise<{ readonly config: Config }> {
  const written = text === undefined ? await readJson(file) : parsed(text, file)
  const config = checkConfig(await withSecrets(written, file, secrets), file)
  return { config: await includeTools(config, file) }
}

/** Reads and checks the file without its includes and secrets. */
export async function readConfigFile(file: string): Promise<Config> {
  return checkConfig(await readJson(file), file)
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const reason = REASONS[error.code ?? ''] ?? `it cannot be read (${error.code})`
    throw new ConfigError(`${file}: ${reason}. Name another with --config or TOOLYARD_CONFIG.`)
  })
  return parsed(text, file)
}

function parsed(text: string, file: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new ConfigError(`${file}: not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
  return bounded(value, file)
}

/** The places where `${VAR}` works; elsewhere the text stays as it is. */
const PLACES =
  /^(providers|mcpServers|servers|(?:approvals|alerts)\.webhook|auth\.oidc|connections\.[\w.-]{1,64}|tools\.registry\[\d+\]\.implementation)\.(?!mock_response\b|cases\b)/
const MAX_SECRET_BYTES = 65_536
const COMMAND_TIMEOUT_MS = 10_000

/**
 * Replaces `${file:…}`, `${cmd:…}` and `${secret:…}` by variables with their values. The values don't become a part of the
 * configuration, which may be logged or shown.
 */
async function withSecrets(written: unknown, file: string, read: boolean | 'kept'): Promise<unknown> {
  const folder = dirname(resolve(file))
  const pending = new Map<string, Promise<void>>()
  const nameFor = (kind: string, inside: string, place: string): string => {
    if (kind === 'secret')
      return storedName(inside, (problem) => new ConfigError(`${file}: ${place}: ${problem}`), read)
    // The same on every server: the hash of a tool covers its implementation.
    const source = kind === 'file' ? resolve(folder, inside) : inside
    const name = `${SOURCED_PREFIX}${createHash('sha256').update(`${kind}:${source}`).digest('hex').slice(0, 32)}`
    const fault = (problem: string) => new ConfigError(`${file}: ${place}: \${${kind}:…}: ${problem}`)
    if (!read) keepSourced(name, NOT_READ)
    else if (read !== 'kept' && !pending.has(name)) {
      const value = kind === 'file' ? readSecret(source, fault) : runCommand(source, fault)
      pending.set(
        name,
        value.then((found) => keepSourced(name, found)),
      )
    }
    return `\${${name}}`
  }
  const walk = (value: unknown, place: string): unknown => {
    if (typeof value === 'string') {
      if (!PLACES.test(place)) return value
      return value.replaceAll(SOURCED, (_, kind: string, inside: string) => nameFor(kind, inside, place))
    }
    if (Array.isArray(value)) return value.map((item, index) => walk(item, `${place}[${index}]`))
    if (typeof value !== 'object' || value === null || value instanceof RefusedDefinition) return value
    const under = place === '' ? '' : `${place}.`
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, `${under}${key}`)]))
  }
  const config = walk(written, '')
  const results = await Promise.allSettled(pending.values())
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return config
}

type Fault = (problem: string) => ConfigError

const NOT_READ = 'not read'

/** The store has the value: an installation adds it to its environment. */
function storedName(name: string, fault: Fault, read: boolean | 'kept'): string {
  if (!isSecretName(name)) {
    throw fault(
      `"\${secret:${name}}": write the name of a secret, up to 64 letters, digits and _, starting with a letter.`,
    )
  }
  if (!read) keepSourced(secretVariable(name), NOT_READ)
  return `\${${secretVariable(name)}}`
}

async function readSecret(path: string, fault: Fault): Promise<string> {
  try {
    const found = await stat(path)
    // Reading a pipe may never end.
    if (!found.isFile() && !found.isDirectory()) throw fault(`${path} is not a file.`)
    if (found.size > MAX_SECRET_BYTES) throw fault(`${path} is larger than 64 KB.`)
    return checkedSecret(await readFile(path, 'utf8'), fault)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw fault(`${path}: ${REASONS[code ?? ''] ?? `it cannot be read (${code})`}.`)
  }
}

/** Without a shell. The output of a failed command isn't shown: it may contain a secret. */
function runCommand(line: string, fault: Fault): Promise<string> {
  const [command, ...args] = splitWords(line) ?? []
  if (command === undefined) return Promise.reject(fault('write a command, with every quote closed.'))
  const { promise, resolve: found, reject } = Promise.withResolvers<string>()
  const limits = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: MAX_SECRET_BYTES, killSignal: 'SIGKILL' } as const
  const child = execFile(command, args, { encoding: 'utf8', ...limits }, (error, stdout) => {
    if (error === null) found(stdout)
    else reject(fault(`${JSON.stringify(command)} ${failureOf(error)}`))
  })
  child.stdin?.end()
  return promise.then((text) => checkedSecret(text, fault))
}

function failureOf({ code, killed }: { readonly code?: unknown; readonly killed?: boolean }): string {
  if (code === 'ENOENT') return 'was not found. Is it in the PATH of the server?'
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'printed more than 64 KB.'
  if (killed) return `did not end within ${COMMAND_TIMEOUT_MS / 1_000} s.`
  return `failed (${code}). Run it in a terminal to see why.`
}

function checkedSecret(text: string, fault: Fault): string {
  const value = text.replace(/\r?\n$/, '')
  if (value.trim() === '') throw fault('the value is empty.')
  if (value.includes('\0')) throw fault('the value has a NUL character.')
  return value
}

/** Splits at spaces. Quotes of either kind keep spaces; there are no escapes. Undefined if a quote isn't closed. */
function splitWords(line: string): string[] | undefined {
  if (!/^(?:[^"']|"[^"]*"|'[^']*')*$/.test(line)) return undefined
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single))
}
