import { resolve } from 'node:path'

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** `${file:…}`, `${cmd:…}` and `${secret:…}`, which work only in the operator's configuration file. */
export const SOURCED = /\$\{(file|cmd|secret):([^{}]*)\}/g

/** Starts the names of variables for these values. Included definitions must not use them. */
export const SOURCED_PREFIX = 'TOOLYARD_SECRET_'

/** Starts the names of variables for stored secrets. */
const STORED_PREFIX = `${SOURCED_PREFIX}STORED_`

/** The variable for a stored secret. */
export const secretVariable = (name: string): string => `${STORED_PREFIX}${name}`

const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

export const isSecretName = (name: string): boolean => SECRET_NAME.test(name)

/** The secret that a variable stands for. */
export const storedSecret = (variable: string): string | undefined =>
  variable.startsWith(STORED_PREFIX) ? variable.slice(STORED_PREFIX.length) : undefined

/** Why a variable has no value. `fix` is what to do about one of the environment. */
export function missingVariable(name: string, fix = ''): string {
  const secret = storedSecret(name)
  if (secret === undefined) return `The environment variable ${name} is not set${fix}`
  return `The secret ${secret} is not stored, or can't be decrypted: store it with "toolyard secrets set ${secret}"`
}

/** The values that the configuration file takes from files and commands. */
const sourced = new Map<string, string>()

/** Stores a value. Definitions refer to it as `${name}`. */
export function keepSourced(name: string, value: string): void {
  sourced.set(name, value)
}

export const hasSourced = (text: string): boolean => text.search(SOURCED) >= 0

/** Whether a definition from elsewhere refers to files, commands or their values. */
export const usesSourced = (text: string): boolean => hasSourced(text) || text.includes(`\${${SOURCED_PREFIX}`)

export const SOURCED_ELSEWHERE =
  '${file:…}, ${cmd:…} and ${secret:…} work only in the configuration file itself: use a variable of the environment here'

export type Environment = Readonly<Record<string, string | undefined>>

export function hasVariable(text: string): boolean {
  return text.search(VARIABLE) >= 0
}

/** Splits a text at its variables: texts and variable names alternate. */
export function splitAtVariables(text: string): string[] {
  return text.split(VARIABLE)
}

/** The value of a variable, which may be empty. */
export const valueIn = (env: Environment, name: string): string | undefined =>
  Object.hasOwn(env, name) ? env[name] : sourced.get(name)

/** Undefined if unset or empty. Trimmed, because a key read from a file often ends with a line break. */
export function variableIn(env: Environment, name: string): string | undefined {
  return valueIn(env, name)?.trim() || undefined
}

/** Replaces every `${VAR}`. `missing` lists the variables that are unset or empty. */
export function expandVariables(text: string, env: Environment): { readonly text: string; readonly missing: string[] } {
  const missing: string[] = []
  const expanded = text.replaceAll(VARIABLE, (_, name: string) => {
    const value = variableIn(env, name)
    if (value === undefined) missing.push(name)
    return value ?? ''
  })
  return { text: expanded, missing }
}

/** `TOOLYARD_DATA`, or `.toolyard` in the current folder. */
export const dataFolder = (env: Environment): string => resolve(env.TOOLYARD_DATA || '.toolyard')

/** Why a text of the configuration file has no value. */
export function variableProblem(text: string, env: Environment): string | undefined {
  if (hasSourced(text)) return SOURCED_ELSEWHERE
  const [missing] = expandVariables(text, env).missing
  return missing === undefined ? undefined : missingVariable(missing)
}
