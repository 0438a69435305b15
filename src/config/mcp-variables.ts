import { homedir } from 'node:os'
import { basename, sep } from 'node:path'
import { type Environment, variableIn } from '../core/expand-variables.ts'
import type { McpInput } from './config.ts'

/** What the variables of a server's entry are looked up in. */
export interface McpScope {
  readonly env: Environment
  readonly inputs: readonly McpInput[]
  /** What editors call the workspace folder: here, the folder that Toolyard runs in. */
  readonly folder: string
}

const VARIABLE = /\$\{([^{}]+)\}/g
const FROM_ENVIRONMENT = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s
/** What VS Code would ask itself for. */
const EDITORS_OWN = /^(command|config):/

/**
 * The text with its variables replaced: `${VAR}`, `${env:VAR}`, `${VAR:-default}`, `${input:id}`, and the folders that
 * editors know. Anything else in `${…}` is the shell's, and stays. `problems` says what is missing, without any value.
 */
export function expandMcpText(text: string, scope: McpScope): { readonly text: string; readonly problems: string[] } {
  const problems: string[] = []
  const expanded = text.replaceAll(VARIABLE, (whole, inside: string) => {
    const found = lookUp(inside, scope)
    if (found === undefined) return whole
    if ('problem' in found) problems.push(found.problem)
    return 'value' in found ? found.value : ''
  })
  return { text: expanded, problems }
}

type Found = { readonly value: string } | { readonly problem: string }

function lookUp(inside: string, scope: McpScope): Found | undefined {
  const place = placeCalled(inside, scope)
  if (place !== undefined) return { value: place }
  if (inside.startsWith('input:')) return inputCalled(inside.slice('input:'.length), scope)
  if (EDITORS_OWN.test(inside)) return { problem: `\${${inside}} is known to an editor only: write its value instead` }
  const [, name, fallback] = FROM_ENVIRONMENT.exec(inside) ?? []
  if (name === undefined) return undefined
  const value = variableIn(scope.env, name) ?? fallback
  if (value !== undefined) return { value }
  return { problem: `The environment variable ${name} is not set: set it, or write \${${name}:-} for an empty one` }
}

function placeCalled(name: string, { folder }: McpScope): string | undefined {
  if (name === 'workspaceFolder') return folder
  if (name === 'workspaceFolderBasename') return basename(folder)
  if (name === 'userHome') return homedir()
  return name === 'pathSeparator' || name === '/' ? sep : undefined
}

/** There is nobody to ask: a variable answers. */
function inputCalled(id: string, { env, inputs }: McpScope): Found {
  const variable = `TOOLYARD_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
  const value = variableIn(env, variable)
  if (value !== undefined) return { value }
  const about = inputs.find((input) => input.id === id)?.description
  const what = about === undefined ? `'${id}'` : `'${id}' (${about})`
  return {
    problem: `The input ${what} is asked for by an editor only: set the environment variable ${variable} instead`,
  }
}
