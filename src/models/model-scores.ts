import { readFile } from 'node:fs/promises'
import { parseJson } from '../core/json/json-depth.ts'
import { compileSchema } from '../core/schema/compiled-schema.ts'

/** Scores measured before a model was shipped; not the tests of this installation. */
export interface ModelScores {
  /** The benchmark, such as `BFCL v4`. */
  readonly rules: string
  readonly categories: readonly CategoryScore[]
}

export interface CategoryScore {
  readonly name: string
  /** Whether Toolyard wrote the cases, instead of the benchmark. */
  readonly own: boolean
  /** Whether a call is expected; otherwise none is. */
  readonly call_wanted: boolean
  readonly cases: number
  readonly right: number
  /** Counts by kind of mistake. */
  readonly wrong: Readonly<Record<string, number>>
  readonly measured: string
}

/** The JSON Schema of the scores file and the server's response. */
export const MODEL_SCORES_SCHEMA = {
  type: 'object',
  description: 'Benchmark results from before the release. Tests on this server are under validation.',
  required: ['rules', 'categories'],
  properties: {
    rules: { type: 'string', description: 'The rules that decide whether a case is right.', examples: ['BFCL v4'] },
    categories: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['name', 'own', 'call_wanted', 'cases', 'right', 'wrong', 'measured'],
        properties: {
          name: { type: 'string', minLength: 1, examples: ['simple_python'] },
          own: { type: 'boolean', description: "Whether the requests are Toolyard's own." },
          call_wanted: { type: 'boolean', description: 'Whether a call is expected; if not, making no call is right.' },
          cases: { type: 'integer', minimum: 1 },
          right: { type: 'integer', minimum: 0 },
          wrong: {
            type: 'object',
            description: 'The number of mistakes of each kind.',
            additionalProperties: { type: 'integer', minimum: 1 },
          },
          measured: { type: 'string', format: 'date' },
        },
      },
    },
  },
}

/** The scores in a file. Undefined if the file is missing or damaged: the model answers without them. */
export async function readScores(file: string | URL): Promise<ModelScores | undefined> {
  try {
    const read: unknown = parseJson(await readFile(file, 'utf8'))
    return isScores(read) ? read : undefined
  } catch {
    return undefined
  }
}

const isScores = (read: unknown): read is ModelScores =>
  compileSchema(MODEL_SCORES_SCHEMA).check?.(read) === true &&
  (read as ModelScores).categories.every(({ cases, right }) => right <= cases)
