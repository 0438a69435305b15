import { readFile } from 'node:fs/promises'
import { parseJson } from '../../core/json/json-depth.ts'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { KEPT_FAILURES, type StoredToolUse } from '../../core/storage/tool-use-store.ts'
import { FileFault, fileProblem, ModelValidationError } from '../model-validation.ts'

const TEXT = { type: 'string', maxLength: 2_000 } as const
const NAME = { type: 'string', minLength: 1, maxLength: 200, pattern: '^[^\\u0000-\\u001f]*$' } as const
const TIME = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' } as const
const COUNT = {
  type: 'object',
  required: ['trials', 'successes'],
  properties: {
    trials: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    successes: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  },
} as const

const FILE = compileSchema({
  type: 'object',
  required: ['tool_use'],
  properties: {
    tool_use: {
      type: 'array',
      maxItems: 100_000,
      items: {
        type: 'object',
        required: ['model_id', 'tool', 'schema_hash', 'suite', 'run', 'last_used', 'failure_kinds', 'failures'],
        properties: {
          model_id: NAME,
          tool: NAME,
          schema_hash: { type: 'string', maxLength: 64, pattern: '^[0-9a-f]*$' },
          suite: COUNT,
          run: COUNT,
          last_used: TIME,
          failure_kinds: { type: 'object', additionalProperties: { type: 'integer', minimum: 0 } },
          failures: {
            type: 'array',
            items: {
              type: 'object',
              required: ['timestamp', 'source', 'kind', 'message'],
              properties: {
                timestamp: TIME,
                source: { enum: ['suite', 'run'] },
                kind: TEXT,
                message: TEXT,
                expected: TEXT,
                actual: TEXT,
                run_id: TEXT,
              },
            },
          },
        },
      },
    },
  },
})

/** Reads a file written by `toolyard validations export`. Throws a `ModelValidationError` if it is invalid. */
export async function readToolUses(file: string): Promise<StoredToolUse[]> {
  try {
    return toolUsesOf(parseJson(await readFile(file, 'utf8')))
  } catch (error) {
    throw new ModelValidationError(
      `The tool use counts in "${file}" could not be loaded: ${fileProblem(error)}. Nothing was changed.`,
      { cause: error },
    )
  }
}

/** Reads only counts and failures; everything else is derived from them. */
function toolUsesOf(content: unknown): StoredToolUse[] {
  if (!FILE.check?.(content))
    throw new FileFault(FILE.explain(content)[0]?.message.replace(/^parameters /, 'it ') ?? '')
  const seen = new Set<string>()
  return (content as { tool_use: readonly StoredToolUse[] }).tool_use.map((use) => {
    const { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures } = use
    const about = `the count of "${model_id}" with "${tool}"`
    if (suite.successes > suite.trials || run.successes > run.trials) {
      throw new FileFault(`${about} has more successes than trials`)
    }
    const key = JSON.stringify([model_id, tool, schema_hash])
    if (seen.has(key)) throw new FileFault(`${about} appears twice`)
    seen.add(key)
    const newest = failures.slice(-KEPT_FAILURES).map(({ timestamp, source, kind, message, ...more }) => ({
      timestamp,
      source,
      kind,
      message,
      ...(more.expected !== undefined && { expected: more.expected }),
      ...(more.actual !== undefined && { actual: more.actual }),
      ...(more.run_id !== undefined && { run_id: more.run_id }),
    }))
    return { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures: newest }
  })
}
