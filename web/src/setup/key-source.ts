/** Where the server gets a key from. It never contains the key itself. */
export interface KeySource {
  readonly from: 'secret' | 'variable' | 'none'
  /** The name of the secret. */
  readonly secret: string
  /** The name of the environment variable. */
  readonly variable: string
}

/** What the server says about its secret store. */
export interface SecretStore {
  readonly enabled: boolean
  /** The names that are taken. */
  readonly names: readonly string[]
}

/** The store is the first choice, if the server has one. */
export function sourceFor(variable: string, { enabled, names }: SecretStore): KeySource {
  let secret = variable
  for (let at = 2; names.includes(secret); at++) secret = `${variable}_${at}`
  return { from: enabled ? 'secret' : 'variable', secret, variable }
}

const SECRET = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

interface Known {
  readonly secrets: SecretStore
  readonly variables: { readonly any: boolean; readonly names: readonly string[] }
}

/** The variables that a key may come from: those that the server allows, and the usual one of its service. */
export const variablesFor = ({ variables }: Known, usual: string): readonly string[] =>
  usual === '' ? variables.names : [...new Set([usual, ...variables.names])]

/** Why a name can't be used, if it can't. */
export function sourceProblem({ from, secret, variable }: KeySource, known: Known, usual: string): string | undefined {
  if (from === 'secret') {
    if (!SECRET.test(secret)) return 'Use letters, digits and "_", up to 64 characters.'
    if (known.secrets.names.includes(secret)) return `A secret called "${secret}" exists already. Choose another name.`
  }
  if (from === 'variable') {
    if (!VARIABLE.test(variable)) return 'Use letters, digits and "_".'
    const allowed = variablesFor(known, usual)
    if (!known.variables.any && !allowed.includes(variable)) {
      return `The server allows ${allowed.join(', ') || 'no variables'} only.`
    }
  }
  return undefined
}

/** What a preview sends instead of a secret. The server stores nothing then. */
const STAND_IN = 'not-sent-yet'

/** The part of a change that names the key. The value is sent only to write it. */
export function keyChange({ from, secret, variable }: KeySource, value = STAND_IN) {
  if (from === 'none') return undefined
  return from === 'variable' ? { variable } : { secret: { name: secret, value } }
}
