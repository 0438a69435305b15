import { compileSchema } from '../core/schema/compiled-schema.ts'
import { suggest } from '../core/suggest.ts'
import type { Config } from './config.ts'
import { configProblems } from './config-problems.ts'
import { CONFIG_SCHEMA } from './config-schema.ts'
import { knownKeys } from './known-keys.ts'
import { FORMER_PROVIDER, FORMER_PROVIDER_GONE } from './provider-types.ts'

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
  const problems = compiled.check?.(value)
    ? configProblems(value as Config)
    : schemaProblems(compiled.explain(value), value)
  if (problems.length > 0) throw new ConfigError(`${place}: ${problems.join(' ')}`)
  return value as Config
}

function schemaProblems(explained: ReturnType<ReturnType<typeof compileSchema>['explain']>, value: unknown): string[] {
  return explained.map(({ rule, path, message }) => {
    if (isFormerType(path, value)) return `${path}: ${FORMER_PROVIDER_GONE}`
    if (rule !== 'additionalProperties') return `${message.replace(/^parameters /, 'the configuration ')}.`
    const { key, keys } = knownKeys(path, CONFIG_SCHEMA)
    const [near] = suggest(key, keys)
    return `unknown key '${path}'${near === undefined ? ': remove it.' : `: did you mean '${near}'?`}`
  })
}

function isFormerType(path: string, value: unknown): boolean {
  const name = /^providers\.(.+)\.type$/.exec(path)?.[1]
  return name !== undefined && (value as Config).providers?.[name]?.type === FORMER_PROVIDER
}
