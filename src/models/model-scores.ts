/** What a model was measured to do before it was shipped: counts only, no case. Not the tests of this installation. */
export interface ModelScores {
  /** By whose rules a case is right, such as `BFCL v4`. */
  readonly rules: string
  readonly categories: readonly CategoryScore[]
}

export interface CategoryScore {
  readonly name: string
  /** Whether its requests are of Toolyard's own, and none of those that the rules come with. */
  readonly own: boolean
  /** Whether a call is right; else it is right to make none. */
  readonly call_wanted: boolean
  readonly cases: number
  readonly right: number
  /** How often each kind of mistake was made. */
  readonly wrong: Readonly<Record<string, number>>
  /** The day, such as `2026-11-16`. */
  readonly measured: string
}

/** What the file of scores is held to, and what the server says that it gives. */
export const MODEL_SCORES_SCHEMA = {
  type: 'object',
  description: 'What it was measured to do before it was shipped. Its tests on this server are under validation.',
  required: ['rules', 'categories'],
  properties: {
    rules: { type: 'string', description: 'By whose rules a case is right.', examples: ['BFCL v4'] },
    categories: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['name', 'own', 'call_wanted', 'cases', 'right', 'wrong', 'measured'],
        properties: {
          name: { type: 'string', minLength: 1, examples: ['simple_python'] },
          own: { type: 'boolean', description: "Whether its requests are of Toolyard's own." },
          call_wanted: { type: 'boolean', description: 'Whether a call is right; else it is right to make none.' },
          cases: { type: 'integer', minimum: 1 },
          right: { type: 'integer', minimum: 0 },
          wrong: {
            type: 'object',
            description: 'How often each kind of mistake was made.',
            additionalProperties: { type: 'integer', minimum: 1 },
          },
          measured: { type: 'string', format: 'date' },
        },
      },
    },
  },
}
