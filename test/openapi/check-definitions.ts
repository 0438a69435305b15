import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { compileSchema } from '../../src/core/schema/compiled-schema.ts'
import type { ToolDefinition } from '../../src/core/tool.ts'
import { problemOf } from '../../src/kinds/http/request/http-problem-of.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const PARAMETER = /^[A-Za-z0-9_.-]{1,64}$/
const LONGEST_DESCRIPTION = 1_024
/** So many are checked in one turn of the event loop. */
const TURN = 50

/** Schemas that compiled before: the versions of an API have most of theirs in common. */
const compiled = new Set<string>()

/** What is wrong with the definitions of a document. */
export async function checkDefinitions(definitions: readonly ToolDefinition[]): Promise<string[]> {
  const problems: string[] = []
  for (const [index, tool] of definitions.entries()) {
    problems.push(...problemsOf(tool).map((problem) => `${tool.name}: ${problem}`))
    if (definitions[index - 1]?.name === tool.name) problems.push(`${tool.name}: the name is there twice`)
    // Until then nothing is let go that a weak reference was asked for.
    if (index % TURN === 0) await setImmediate()
  }
  return problems
}

function problemsOf(tool: ToolDefinition): string[] {
  const { name, description, parameters } = tool
  const problems: string[] = []
  if (!NAME.test(name)) problems.push('no model accepts the name')
  if (description.length === 0 || description.length > LONGEST_DESCRIPTION) {
    problems.push(`the description has ${description.length} characters`)
  }
  const unfit = Object.keys((parameters.properties ?? {}) as object).find((one) => !PARAMETER.test(one))
  if (unfit !== undefined) problems.push(`no model accepts the parameter '${unfit}'`)
  const unfitSchema = schemaProblem(tool)
  if (unfitSchema !== undefined) problems.push(`the schema does not compile: ${unfitSchema}`)
  const problem = problemOf(tool)
  if (problem !== undefined) problems.push(problem)
  return problems
}

function schemaProblem({ parameters }: ToolDefinition): string | undefined {
  const key = hash('sha1', JSON.stringify(parameters), 'base64')
  if (compiled.has(key)) return undefined
  try {
    compileSchema(parameters)
    compiled.add(key)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
