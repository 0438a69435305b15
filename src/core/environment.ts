import { resolve } from 'node:path'

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

export type Environment = Readonly<Record<string, string | undefined>>

export function hasVariable(text: string): boolean {
  return text.search(VARIABLE) >= 0
}

/** Splits a text at its variables: texts and variable names alternate. */
export function splitAtVariables(text: string): string[] {
  return text.split(VARIABLE)
}

/** Undefined if unset or empty. Trimmed, because a key read from a file often ends with a line break. */
export function variableIn(env: Environment, name: string): string | undefined {
  return (Object.hasOwn(env, name) && env[name]?.trim()) || undefined
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
