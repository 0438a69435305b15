import { suggest } from '../../../core/suggest.ts'
import type { NamedParameters } from './named-parameters.ts'
import { unfitImplementation } from './unfit-implementation.ts'

/**
 * The parameter that a `{template}` of the address means. It holds the API's name of a parameter that is mapped, or the
 * parameter's own; where it could be two parameters, nobody guesses.
 */
export function templateParameter(
  template: string,
  named: NamedParameters,
  mapping: Readonly<Record<string, string>>,
): string {
  const mapped = [...named.keys()].filter((name) => Object.hasOwn(mapping, name) && mapping[name] === template)
  const own = named.has(template) && !mapped.includes(template)
  // A parameter that the API knows by another name does not claim its own.
  const claims = own && (mapped.length === 0 || !Object.hasOwn(mapping, template)) ? [...mapped, template] : mapped
  const [parameter, other] = claims
  if (parameter === undefined) throw unfitImplementation(unknown(template, named))
  if (other !== undefined) {
    throw unfitImplementation(
      `{${template}} in implementation.url could be parameter '${parameter}' or parameter '${other}': map one of them to another name in params_mapping`,
    )
  }
  return parameter
}

function unknown(template: string, named: NamedParameters): string {
  const [near] = suggest(template, named.keys())
  const fix = near === undefined ? 'add it to parameters.properties' : `did you mean {${near}}?`
  return `{${template}} in implementation.url is no parameter of the tool: ${fix}`
}
