import { hasVariable } from '../../../core/expand-variables.ts'
import type { ToolDefinition } from '../../../core/tool.ts'
import type { HttpImplementation } from '../http-implementation.ts'
import { type BodyWriter, bodyWriter } from './body-writer.ts'
import { checkClaimedNames } from './claimed-names.ts'
import { fixedHeaders } from './fixed-headers.ts'
import { isSecretName, looksSecret } from './literal-secrets.ts'
import { namedParameters } from './named-parameters.ts'
import { type PlacedParameter, placedParameters } from './placed-parameters.ts'
import { templateParameter } from './template-parameter.ts'
import { type UrlTemplate, urlTemplate } from './url-template.ts'

/** All that a tool's requests are made of. */
export interface RequestParts {
  readonly template: UrlTemplate
  /** The parameter of each template of the path, in its order. */
  readonly pathParameters: readonly string[]
  readonly placed: readonly PlacedParameter[]
  readonly headers: Readonly<Record<string, string>>
  /** The headers that carry a secret, in lower case. */
  readonly credentials: readonly string[]
  readonly body: BodyWriter | undefined
}

/** Works out the requests of a tool; `implementation` has no variables any more. Throws a sentence where it is unfit. */
export function requestParts(tool: ToolDefinition, implementation: HttpImplementation): RequestParts {
  const written = tool.implementation as HttpImplementation
  const template = urlTemplate(implementation.url, written.url)
  const named = namedParameters(tool.parameters)
  const placed = placedParameters(implementation, named, template)
  checkClaimedNames(implementation, template, placed)
  return {
    template,
    pathParameters: template.templates.map((one) => templateParameter(one, named, implementation.params_mapping ?? {})),
    placed,
    headers: fixedHeaders(implementation),
    credentials: credentials(written, placed),
    body: bodyWriter(implementation, placed),
  }
}

/** What the environment holds is not for others, and what a parameter says under such a name is not either. */
function credentials({ headers = {} }: HttpImplementation, placed: readonly PlacedParameter[]): string[] {
  const fixed = Object.entries(headers)
    .filter(([name, value]) => hasVariable(value) || isSecretName(name) || looksSecret(name, value))
    .map(([name]) => name)
  const given = placed.filter((one) => one.in === 'header' && isSecretName(one.name)).map(({ name }) => name)
  return [...fixed, ...given].map((name) => name.toLowerCase())
}
