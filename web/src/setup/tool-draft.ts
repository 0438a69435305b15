/** A definition of a tool, as the server proposes it. */
export interface ProposedTool {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly implementation: Readonly<Record<string, unknown>>
  readonly [more: string]: unknown
}

export interface DraftParameter {
  /** The name in the proposal, which is the name in the API. */
  readonly origin: string
  readonly name: string
  readonly type: string
  readonly description: string
  readonly required: boolean
  readonly removed: boolean
  /** The URL contains it, so it can't be removed or optional. */
  readonly fixed: boolean
}

/** The parts of a tool that somebody can edit. */
export interface ToolDraft {
  readonly name: string
  readonly description: string
  readonly parameters: readonly DraftParameter[]
}

export const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const

type Part = Readonly<Record<string, unknown>>

const partOf = (value: unknown): Part => (typeof value === 'object' && value !== null ? (value as Part) : {})

/** The draft of a proposed tool. */
export function draftOf({ name, description, parameters, implementation }: ProposedTool): ToolDraft {
  const required = new Set(Array.isArray(parameters.required) ? parameters.required : [])
  const url = String(implementation.url ?? '')
  const mapping = partOf(implementation.params_mapping)
  return {
    name,
    description,
    parameters: Object.entries(partOf(parameters.properties)).map(([origin, value]) => {
      const { type, description: about } = partOf(value)
      const fixed = url.includes(`{${String(mapping[origin] ?? origin)}}`)
      return {
        origin,
        name: origin,
        type: typeof type === 'string' ? type : '',
        description: typeof about === 'string' ? about : '',
        required: fixed || required.has(origin),
        removed: false,
        fixed,
      }
    }),
  }
}

/** The tool with the edits of its draft. */
export function toolOf(tool: ProposedTool, draft: ToolDraft): ProposedTool {
  const kept = draft.parameters.filter(({ removed }) => !removed)
  const properties = partOf(tool.parameters.properties)
  const required = kept.filter((one) => one.required).map(({ name }) => name)
  const { required: _old, ...schema } = tool.parameters
  return {
    ...tool,
    name: draft.name.trim(),
    description: draft.description.trim(),
    parameters: {
      ...schema,
      properties: Object.fromEntries(kept.map((one) => [one.name, edited(partOf(properties[one.origin]), one)])),
      ...(required.length > 0 && { required }),
    },
    implementation: implementationOf(tool.implementation, kept),
  }
}

/** Examples, defaults and limits belong to the type that was proposed. */
function edited(schema: Part, { type, description }: DraftParameter): Part {
  const { type: before, description: _old, ...rest } = schema
  const about = description.trim()
  const isSame = type === '' || type === before
  return {
    ...(isSame ? before !== undefined && { type: before } : { type }),
    ...(about !== '' && { description: about }),
    ...(isSame && rest),
  }
}

/** Renamed parameters keep their names in the API. If there is a mapping, the server sends only mapped parameters. */
function implementationOf(before: Part, kept: readonly DraftParameter[]): Part {
  const { params_mapping: oldMapping, params_in: oldIn, body_param: oldBody, ...rest } = before
  const mapped = partOf(oldMapping)
  const needsMapping = oldMapping !== undefined || kept.some(({ name, origin }) => name !== origin)
  const mapping = kept
    .filter(({ origin, name }) => origin in mapped || name !== origin || oldMapping === undefined)
    .map(({ origin, name }) => [name, mapped[origin] ?? origin])
  const places = partOf(oldIn)
  const placed = kept.filter(({ origin }) => origin in places).map(({ origin, name }) => [name, places[origin]])
  const body = kept.find(({ origin }) => origin === oldBody)?.name
  return {
    ...rest,
    ...(needsMapping && mapping.length > 0 && { params_mapping: Object.fromEntries(mapping) }),
    ...(placed.length > 0 && { params_in: Object.fromEntries(placed) }),
    ...(body !== undefined && { body_param: body }),
  }
}

/** The tool with environment variables instead of secrets, for a server that stores none. */
export const withVariables = (tool: ProposedTool): ProposedTool => ({
  ...tool,
  implementation: JSON.parse(JSON.stringify(tool.implementation).replace(/\$\{secret:(\w+)\}/g, '${$1}')),
})

const NAME = /^[A-Za-z_][\w.-]{0,63}$/
const PARAMETER = /^[A-Za-z_][\w-]{0,63}$/

/** What is wrong with a draft, by field: `name`, `description`, or the origin of a parameter. */
export function draftProblems({ name, description, parameters }: ToolDraft): ReadonlyMap<string, string> {
  const problems = new Map<string, string>()
  if (!NAME.test(name.trim())) problems.set('name', 'Use letters, digits, "_" and "-", up to 64 characters.')
  if (description.trim() === '')
    problems.set('description', 'Say what the tool does. Models choose tools by this text.')
  const kept = parameters.filter(({ removed }) => !removed)
  for (const one of kept) {
    if (!PARAMETER.test(one.name)) problems.set(one.origin, 'Use letters, digits, "_" and "-".')
    else if (kept.some((other) => other !== one && other.name === one.name)) {
      problems.set(one.origin, `Two parameters are called "${one.name}".`)
    }
  }
  return problems
}
