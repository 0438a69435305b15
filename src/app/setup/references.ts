import { isIP } from 'node:net'
import { isSecretName, storedSecret } from '../../core/environment.ts'
import { secretProblem } from '../secrets.ts'
import { SetupError } from './setup-error.ts'

/** A secret that a change stores. */
export interface NewSecret {
  readonly name: string
  readonly value: string
}

/** A secret as the page sends it. A preview needs no value. */
export interface NamedSecret {
  readonly name: string
  readonly value?: string | undefined
}

const NOT_ENTERED = 'not entered'

/** A new secret as it is shown: without its value. */
export interface SecretPlace {
  readonly name: string
  /** Where the configuration refers to it. */
  readonly place: string
}

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}` or `${secret:NAME}`. */
const REFERENCE = /\$\{(?:(secret):([A-Za-z]\w{0,63})|(?:env:)?([A-Za-z_]\w*)(?::-[^{}$]*)?)\}/y

interface Allowed {
  readonly secrets: ReadonlySet<string>
  /** Whether a change may name a variable of the environment. */
  readonly variable: (name: string) => boolean
}

/**
 * Refuses references to files, commands, secrets and variables that the change may not use. The author of a change isn't
 * the operator of this machine, and a value could be sent anywhere.
 */
export function checkReferences(value: unknown, { secrets, variable }: Allowed): void {
  for (const text of textsIn(value)) {
    for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', at + 2)) {
      REFERENCE.lastIndex = at
      const [whole, isSecret, secret = '', name = ''] = REFERENCE.exec(text) ?? []
      if (whole === undefined) {
        const shown = JSON.stringify(text.slice(at, at + 40))
        const fix = 'write ${NAME} for a variable, or change the file by hand'
        throw new SetupError(422, `The value ${shown} can't be written from the page: ${fix}`)
      }
      if (isSecret !== undefined && !secrets.has(secret)) {
        throw new SetupError(422, `The change has no value for the secret ${secret}: enter it`)
      }
      if (isSecret === undefined && !variable(name)) throw forbiddenVariable(name)
    }
  }
}

export function forbiddenVariable(name: string): SetupError {
  const fix = name.toUpperCase().startsWith('TOOLYARD_')
    ? 'variables of Toolyard itself are never sent'
    : 'store the value as a secret, or let the operator add the name to page.variables in the configuration'
  return new SetupError(422, `The variable ${name.slice(0, 80)} can't be used: ${fix}`)
}

/** Names of keys, too: they may be headers. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      yield key
      yield* textsIn(item)
    }
  }
}

interface SecretContext {
  readonly taken: readonly string[]
  readonly isPreview?: boolean
}

/** The secrets of a change: those that its author named, and those that were found in it. */
export class NewSecrets {
  readonly #taken: ReadonlySet<string>
  readonly #isPreview: boolean
  readonly #values = new Map<string, string>()
  readonly #places = new Map<string, string>()

  /** `taken` are the names of stored secrets. */
  constructor({ taken, isPreview = false }: SecretContext, given: readonly NamedSecret[] = []) {
    this.#taken = new Set(taken)
    this.#isPreview = isPreview
    for (const { name, value } of given) this.add(name, value)
  }

  get names(): ReadonlySet<string> {
    return new Set(this.#values.keys())
  }

  get list(): NewSecret[] {
    return Array.from(this.#values, ([name, value]) => ({ name, value }))
  }

  get places(): SecretPlace[] {
    return Array.from(this.#values.keys(), (name) => ({ name, place: this.#places.get(name) ?? '' }))
  }

  /** Adds a secret with this name. Refuses a name that is in use: another tool may depend on that value. */
  add(name: string, given: string | undefined, place?: string): void {
    const value = given ?? (this.#isPreview ? NOT_ENTERED : '')
    const problem = secretProblem(name, value)
    if (problem !== undefined) throw new SetupError(422, problem)
    if (this.#taken.has(name)) {
      throw new SetupError(422, `There is already a secret ${name}: use another name, or remove that one first`)
    }
    const known = this.#values.get(name)
    if (known !== undefined && known !== value) {
      throw new SetupError(422, `The secret ${name} has two values: use two names`)
    }
    this.#values.set(name, value)
    if (place !== undefined) this.#places.set(name, place)
  }

  /** Adds a secret that was found in a value, under a free name, and returns the reference to it. */
  found(wanted: string, value: string, place: string): string {
    const same = this.list.find((one) => one.value === value && this.#places.has(one.name))
    if (same !== undefined) return `\${secret:${same.name}}`
    const name = this.#free(wanted)
    this.add(name, value, place)
    return `\${secret:${name}}`
  }

  /** Says where a named secret is used. */
  used(value: unknown, place: string): void {
    for (const text of textsIn(value)) {
      for (const [, name = ''] of text.matchAll(/\$\{secret:(\w+)\}/g)) {
        if (this.#values.has(name) && !this.#places.has(name)) this.#places.set(name, place)
      }
    }
  }

  #free(wanted: string): string {
    const plain = wanted
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
      .replace(/^[^A-Z]+/, '')
      .slice(0, 56)
      .replace(/(?<!_)_+$/, '')
    const base = isSecretName(plain) ? plain : 'SECRET'
    for (let at = 1; ; at++) {
      const name = at === 1 ? base : `${base}_${at}`
      if (!this.#taken.has(name) && !this.#values.has(name)) return name
    }
  }
}

/** The word of a host that names its service: `linear` of mcp.linear.app. */
export function serviceOf(hostname: string): string {
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return 'local'
  const words = hostname.split('.')
  const own = words.slice(0, Math.max(1, words.length - 1)).filter((word) => !/^(?:www|api|mcp|co)$/.test(word))
  return own.at(-1) ?? words[0] ?? 'server'
}

/** The parts of a configuration that use each secret, such as `mcpServers.files`. */
export function secretUses(config: object, names: readonly string[]): Record<string, string[]> {
  const uses = new Map(names.map((name) => [name, new Set<string>()]))
  const walk = (value: unknown, path: readonly string[]): void => {
    if (typeof value === 'string') {
      // Once for all names: there may be many.
      for (const [, variable = ''] of value.matchAll(/\$\{(\w+)\}/g)) {
        uses.get(storedSecret(variable) ?? '')?.add(path.join('.'))
      }
      return
    }
    if (typeof value !== 'object' || value === null) return
    for (const [key, item] of Object.entries(value)) {
      const { name } = Object(item) as { name?: unknown }
      const step = Array.isArray(value) && typeof name === 'string' ? name : key
      // The tool, the server or the provider, not each of its headers.
      walk(item, path.length < (path[0] === 'tools' ? 3 : 2) ? [...path, step] : path)
    }
  }
  walk(config, [])
  return Object.fromEntries([...uses].map(([name, places]) => [name, [...places]]))
}
