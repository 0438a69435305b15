import { type Environment, isSecretName, secretVariable } from '../core/environment.ts'
import { type Log, writeLog } from '../core/log.ts'
import { OperationError } from '../core/operation/operation-error.ts'
import type { SettingStore } from '../core/storage/setting-store.ts'
import type { Actor, AuditEvents } from './callers/audit-events.ts'
import type { TextSeal } from './durable/sealed-text.ts'

/** Why nothing can be stored, and what to do. */
export const NO_SECRETS_KEY =
  'Secrets are stored encrypted: set TOOLYARD_ENCRYPTION_KEY to the output of "openssl rand -base64 32" and restart the server, or use an environment variable instead'

const KIND = 'stored_secret'
const MAX_SECRETS = 1_000
export const MAX_SECRET_CHARACTERS = 65_536

interface SecretParts {
  readonly settings: SettingStore
  readonly seal: TextSeal
  readonly events: AuditEvents
  readonly log: Log
}

/** The values as variables. Those that can't be decrypted are left out with a warning. */
export async function storedVariables({ settings, seal, log }: Omit<SecretParts, 'events'>): Promise<Environment> {
  const variables: Record<string, string> = {}
  for (const { name, value } of await settings.list(KIND)) {
    try {
      variables[secretVariable(name)] = seal.open(String(value), placeOf(name))
    } catch (error) {
      writeLog(log, 'warn', { secret: name, problem: (error as Error).message }, 'A secret cannot be decrypted')
    }
  }
  return variables
}

/** Named secrets that the configuration refers to as `${secret:NAME}`. They are encrypted, and never shown. */
export class Secrets {
  readonly #parts: SecretParts

  constructor(parts: SecretParts) {
    this.#parts = parts
  }

  /** Whether there is a key to encrypt with. */
  get enabled(): boolean {
    return this.#parts.seal.keyId !== undefined
  }

  async names(): Promise<string[]> {
    return (await this.#parts.settings.list(KIND)).map(({ name }) => name)
  }

  variables(): Promise<Environment> {
    return storedVariables(this.#parts)
  }

  /** Stores a secret. With `fresh`, returns false if there is one of that name; otherwise replaces it. */
  async set(name: string, value: string, by: Actor, { fresh = false } = {}): Promise<boolean> {
    const { settings, seal, events } = this.#parts
    const problem = this.#problem(name, value)
    if (problem !== undefined) throw new OperationError('unprocessable', problem)
    const names = await this.names()
    if (names.length >= MAX_SECRETS && !names.includes(name)) {
      const message = `There are ${MAX_SECRETS} secrets, the maximum: remove some`
      throw new OperationError('too_many', message)
    }
    const setting = { kind: KIND, name, value: seal.seal(value, placeOf(name)) } as const
    if (!fresh) await settings.put(setting)
    else if (!(await settings.replace(setting))) return false
    await events.record('secret.set', { by, subject: name, detail: { replaced: names.includes(name) } })
    return true
  }

  /** Returns false if there is no such secret. */
  async remove(name: string, by: Actor): Promise<boolean> {
    const { settings, events } = this.#parts
    if (!(await settings.remove(KIND, name))) return false
    await events.record('secret.removed', { by, subject: name })
    return true
  }

  #problem(name: string, value: string): string | undefined {
    if (!this.enabled) return NO_SECRETS_KEY
    return secretProblem(name, value)
  }
}

/** Why a secret can't be stored. Never contains the value. */
export function secretProblem(name: string, value: string): string | undefined {
  if (!isSecretName(name)) {
    const shown = JSON.stringify(name.slice(0, 64))
    return `${shown} is not a name for a secret: use up to 64 letters, digits and _, starting with a letter`
  }
  if (value.trim() === '') return `The value of the secret ${name} is empty`
  if (value.length > MAX_SECRET_CHARACTERS) return `The value of the secret ${name} is longer than 64 KB`
  if (value.includes('\0')) return `The value of the secret ${name} has a NUL character`
  return undefined
}

/** A text can't be moved to another name. Known to the table of encrypted columns, too. */
const placeOf = (name: string): string => `secret ${name}`
