import { SOURCED_ELSEWHERE, splitAtVariables, usesSourced } from '../core/environment.ts'
import { versionProblem } from '../core/execution/tool-view.ts'
import { foreignText } from '../core/json/json-depth.ts'
import { compileSchema } from '../core/schema/compiled-schema.ts'
import { DEFINITION_SCHEMA, type Effect, type ToolDefinition } from '../core/tool.ts'
import { SHIPPED_BUILTINS } from '../kinds/builtin/shipped.ts'
import { HTTP_IMPLEMENTATION_SCHEMA, type HttpImplementation } from '../kinds/http/definition/http-implementation.ts'
import { DomainList } from '../kinds/http/network/network-rules.ts'
import { effectOf as effectOfMethod } from '../kinds/http/request/http-problem-of.ts'
import { type Files, PackageError, quote } from './tarball.ts'

/** What a package brings and may do, as `toolyard add` shows it. */
export interface Contents {
  readonly tools: readonly PackagedTool[]
  /** The only hosts that its HTTP tools reach. */
  readonly hosts: readonly string[]
  readonly permissions: readonly string[]
  /** Variables of the environment that its tools want to read. */
  readonly variables: readonly string[]
  /** Models that its agents use. */
  readonly models: readonly string[]
  /** Files with code. */
  readonly code: readonly string[]
  /** Whether some of the code may open connections. */
  readonly network: boolean
  readonly prompts: readonly string[]
  readonly suites: readonly string[]
  readonly mocks: readonly string[]
}

interface PackagedTool {
  readonly name: string
  readonly kind: string
  readonly effect: Effect
  readonly description: string
  readonly variables: readonly string[]
  /** Of an HTTP tool that may write, whatever effect it declares. */
  readonly method?: string
}

const MAX_TOOLS = 1_000

/** Lists what the definitions may do. Throws if they do what a package must not. */
export function contentsOf(definitions: readonly ToolDefinition[], files: Files, hosts: readonly string[]): Contents {
  if (definitions.length > MAX_TOOLS) throw new PackageError(`It has more than ${MAX_TOOLS} tools`)
  const domains = domainsOf(hosts)
  const names = new Set<string>()
  for (const tool of definitions) {
    const problem = shapeProblem(tool) ?? (names.has(tool.name) ? 'its name is used twice' : undefined)
    if (problem !== undefined) throw new PackageError(`Tool ${quote(foreignText(tool.name))}: ${problem}`)
    names.add(tool.name)
  }
  for (const tool of definitions) {
    const problem = useProblem(tool, { names, files, hosts, domains })
    if (problem !== undefined) throw new PackageError(`Tool '${tool.name}': ${problem}`)
  }
  const byName = new Map(definitions.map((tool) => [tool.name, tool]))
  const tools = definitions.map((tool) => ({
    name: tool.name,
    kind: tool.implementation.type,
    effect: effectOf(tool, byName),
    description: tool.description,
    variables: variablesOf(tool),
    ...writingMethod(tool),
  }))
  const under = (folder: string) => [...files.keys()].filter((path) => path.startsWith(`${folder}/`))
  const unique = (all: readonly string[]) => [...new Set(all)].sort()
  return {
    tools,
    hosts: unique(hosts),
    permissions: unique(definitions.flatMap(({ permissions = [] }) => permissions)),
    variables: unique(tools.flatMap(({ variables }) => variables)),
    models: unique(
      definitions.flatMap(({ implementation: { type, model } }) => (type === 'agent' ? foreignText(model) : [])),
    ),
    code: under('handlers'),
    network: definitions.some(({ implementation }) => implementation.network === true),
    prompts: under('prompts'),
    suites: under('suites'),
    mocks: under('mocks'),
  }
}

function domainsOf(hosts: readonly string[]): DomainList {
  try {
    return new DomainList(hosts, 'package.json: toolyard.hosts')
  } catch (error) {
    throw new PackageError((error as Error).message)
  }
}

function shapeProblem(tool: ToolDefinition): string | undefined {
  return mismatch(tool, DEFINITION_SCHEMA) ?? (tool.version === undefined ? undefined : versionProblem(tool.version))
}

function mismatch(value: unknown, schema: Parameters<typeof compileSchema>[0]): string | undefined {
  const { check, explain } = compileSchema(schema)
  return check?.(value) ? undefined : explain(value)[0]?.message
}

interface Around {
  readonly names: ReadonlySet<string>
  readonly files: Files
  readonly hosts: readonly string[]
  readonly domains: DomainList
}

/** Which module and export a handler is: `handlers/convert.mjs#convert`. */
export function handlerOf({ implementation }: ToolDefinition): readonly [path: string, name: string] | undefined {
  const [, path, name] =
    /^(handlers\/[\w.-]+\.m?js)#([A-Za-z_$][\w$]*)$/.exec(foreignText(implementation.handler)) ?? []
  return path === undefined || name === undefined ? undefined : [path, name]
}

/** The tools that a pipeline or an agent calls; undefined for other kinds. */
export function calleesOf({ implementation: { type, steps, tools } }: ToolDefinition): readonly string[] | undefined {
  if (type === 'agent') return Array.isArray(tools) ? tools.map(foreignText) : []
  if (type !== 'pipeline') return undefined
  return Array.isArray(steps) ? steps.map((step) => foreignText(Object(step).tool)) : []
}

function useProblem(tool: ToolDefinition, around: Around): string | undefined {
  const { implementation } = tool
  if (usesSourced(JSON.stringify(implementation))) return SOURCED_ELSEWHERE
  const own = variablesOf(tool).find((name) => name.startsWith('TOOLYARD_'))
  if (own !== undefined) return `\${${own}} is a setting of the server, which packages can't read`
  switch (implementation.type) {
    case 'mock':
      return undefined
    case 'builtin':
      return Object.hasOwn(SHIPPED_BUILTINS, foreignText(implementation.handler))
        ? undefined
        : `there is no shipped handler ${quote(foreignText(implementation.handler))}: use one of ${Object.keys(SHIPPED_BUILTINS).join(', ')}`
    case 'internal': {
      const [path] = handlerOf(tool) ?? []
      if (path === undefined) return 'implementation.handler must be such as "handlers/convert.mjs#convert"'
      return around.files.has(path) ? undefined : `its handler ${quote(path)} is missing`
    }
    case 'http':
      return (
        mismatch(implementation, HTTP_IMPLEMENTATION_SCHEMA) ??
        hostProblem(implementation as HttpImplementation, around)
      )
    case 'agent':
      if (implementation.url !== undefined) return 'agents on other servers are not allowed in packages: remove url'
      return calleeProblem(tool, around.names)
    case 'pipeline':
      return calleeProblem(tool, around.names)
    default:
      return `the kind ${quote(implementation.type)} is not allowed in packages`
  }
}

/** Otherwise a package could send the results of local tools to its hosts. */
function calleeProblem(tool: ToolDefinition, names: ReadonlySet<string>): string | undefined {
  const other = calleesOf(tool)?.find((name) => !names.has(name))
  return other && `it calls ${quote(other)}, but it may only call tools of its package, each by its name`
}

function hostProblem(
  { url, auth, allowed_domains = [] }: HttpImplementation,
  { hosts, domains }: Around,
): string | undefined {
  if (auth?.type === 'user_oauth') return 'the accounts of users are not available to packages: remove auth'
  for (const address of auth?.type === 'oauth2' ? [url, auth.token_url] : [url]) {
    const origin = /^https?:\/\/[^/?#\\]*/i.exec(foreignText(address))?.[0] ?? ''
    const host = /[${}@]/.test(origin) ? undefined : URL.parse(origin)?.hostname.replace(/^\[|\]$/g, '')
    if (host === undefined) return `write out the host of ${quote(foreignText(address))}, without variables`
    if (!domains.has(host)) return `its host '${host}' is not declared: add it to toolyard.hosts in package.json`
  }
  const other = allowed_domains.find((entry) => !hosts.includes(entry) && !domains.has(entry))
  return other && `allowed_domains has ${quote(other)}, which is not in toolyard.hosts of package.json`
}

/** The variables that a definition reads. Mock responses are data. */
function variablesOf({ implementation }: ToolDefinition): string[] {
  const { mock_response: _, cases: __, ...rest } = implementation
  return [...new Set(splitAtVariables(JSON.stringify(rest)).filter((_part, at) => at % 2 === 1))]
}

function writingMethod({ implementation }: ToolDefinition): { readonly method?: string } {
  const { type, method } = implementation as HttpImplementation
  return type === 'http' && method !== undefined && effectOfMethod(method) !== 'read' ? { method } : {}
}

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'write']

/** The declared effect, otherwise that of its kind: of tools that call others, the strongest. */
function effectOf(tool: ToolDefinition, byName: ReadonlyMap<string, ToolDefinition>): Effect {
  let strongest = 0
  const tools = new Set([tool])
  // The set grows while it is read.
  for (const one of tools) {
    const inner = one.effect === undefined ? calleesOf(one) : undefined
    if (inner === undefined) strongest = Math.max(strongest, EFFECTS.indexOf(ownEffect(one)))
    for (const name of inner ?? []) {
      const other = byName.get(name)
      if (other !== undefined) tools.add(other)
    }
  }
  return EFFECTS[strongest] ?? 'write'
}

function ownEffect({ effect, implementation }: ToolDefinition): Effect {
  if (effect !== undefined) return effect
  const { type, handler, method } = implementation as HttpImplementation
  if (type === ('mock' as string)) return 'read'
  if (type === 'http') return effectOfMethod(method)
  if (type === ('builtin' as string)) return SHIPPED_BUILTINS[foreignText(handler)] ?? 'write'
  return 'write'
}
