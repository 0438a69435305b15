import { readFile } from 'node:fs/promises'
import { compileSchema } from '../../core/schema/compiled-schema.ts'
import { KEPT_FAILURES, type StoredToolUse } from '../../core/storage/tool-use-store.ts'
import { ModelValidationError } from '../model-validation.ts'

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

/** Reads the counts of a file that `toolyard validations export` wrote; throws on anything that they cannot be. */
export async function readToolUses(file: string): Promise<StoredToolUse[]> {
  try {
    return toolUsesOf(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    throw new ModelValidationError(
      `How models use tools could not be loaded from "${file}": ${reasonOf(error)}. Nothing was changed.`,
      { cause: error },
    )
  }
}

/** Where a file is not what it should be; said as part of the whole sentence. */
class Fault extends Error {}

/** Only what is counted is read: what follows from it is worked out anew. */
function toolUsesOf(content: unknown): StoredToolUse[] {
  if (!FILE.check?.(content)) throw new Fault(FILE.explain(content)[0]?.message.replace(/^parameters /, 'it ') ?? '')
  const seen = new Set<string>()
  return (content as { tool_use: readonly StoredToolUse[] }).tool_use.map((use) => {
    const { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures } = use
    const about = `the count of "${model_id}" with "${tool}"`
    if (suite.successes > suite.trials || run.successes > run.trials) {
      throw new Fault(`${about} has more successes than trials`)
    }
    const key = JSON.stringify([model_id, tool, schema_hash])
    if (seen.has(key)) throw new Fault(`${about} is in it twice`)
    seen.add(key)
    const kept = failures.slice(-KEPT_FAILURES).map(({ timestamp, source, kind, message, ...more }) => ({
      timestamp,
      source,
      kind,
      message,
      ...(more.expected !== undefined && { expected: more.expected }),
      ...(more.actual !== undefined && { actual: more.actual }),
      ...(more.run_id !== undefined && { run_id: more.run_id }),
    }))
    return { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures: kept }
  })
}

function reasonOf(error: unknown): string {
  const code = (Object(error) as { code?: unknown }).code
  if (error instanceof SyntaxError) return 'it is no JSON'
  if (code === 'ENOENT') return 'there is no such file or folder'
  if (typeof code === 'string') return `the system says ${code}`
  return error instanceof Error ? error.message : String(error)
}
