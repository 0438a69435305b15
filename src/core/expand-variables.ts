const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** What variables are looked up in. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Whether a text has a `${VAR}`. */
export function hasVariable(text: string): boolean {
  return text.search(VARIABLE) >= 0
}

/** The text cut at its variables: texts and, between each two of them, the name of a variable. */
export function splitAtVariables(text: string): string[] {
  return text.split(VARIABLE)
}

/**
 * What a variable is set to; undefined where it is not, or is empty. Blanks around a value go: a key read from a file
 * ends with a line end that no header may hold.
 */
export function variableIn(env: Environment, name: string): string | undefined {
  return (Object.hasOwn(env, name) && env[name]?.trim()) || undefined
}

/** The text with every `${VAR}` replaced; `missing` has those that are not set, or empty. */
export function expandVariables(text: string, env: Environment): { readonly text: string; readonly missing: string[] } {
  const missing: string[] = []
  const expanded = text.replaceAll(VARIABLE, (_, name: string) => {
    const value = variableIn(env, name)
    if (value === undefined) missing.push(name)
    return value ?? ''
  })
  return { text: expanded, missing }
}
