import { compileSchema } from '../core/schema/compiled-schema.ts'
import { suggest } from '../core/suggest.ts'
import type { Config } from './config.ts'
import { CONFIG_SCHEMA } from './config-schema.ts'

/** A configuration that cannot be started with; the message names file, path and fix. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigError'
  }
}

/** Gives the value back as a configuration, or throws a `ConfigError` about `place` (a file name, as a rule). */
export function checkConfig(value: unknown, place: string): Config {
  const compiled = compileSchema(CONFIG_SCHEMA)
  if (compiled.check?.(value)) return value as Config
  const problems = compiled.explain(value).map(({ rule, path, message }) => {
    if (rule !== 'additionalProperties') return `${message.replace(/^parameters /, 'the configuration ')}.`
    const near = suggest(path.slice(path.lastIndexOf('.') + 1), knownKeys(path))
    return `unknown key '${path}'${near.length > 0 ? `: did you mean '${near[0]}'?` : ': remove it.'}`
  })
  throw new ConfigError(`${place}: ${problems.join(' ')}`)
}

function knownKeys(path: string): string[] {
  return Object.keys(path.includes('.') ? CONFIG_SCHEMA.properties.tools.properties : CONFIG_SCHEMA.properties)
}
