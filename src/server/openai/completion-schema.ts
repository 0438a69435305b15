const OBJECT = { type: ['object', 'null'], additionalProperties: true } as const
const BOOLEAN = { type: ['boolean', 'null'] } as const
const TOKENS = { type: ['integer', 'null'], minimum: 1 } as const

/** The body of `POST /v1/chat/completions`, as far as it is read; what else stands in it is passed over. */
export const COMPLETION_SCHEMA = {
  type: 'object',
  required: ['model', 'messages'],
  additionalProperties: true,
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'provider:model, as GET /v1/models lists it.' },
    messages: {
      type: 'array',
      minItems: 1,
      maxItems: 5_000,
      description: 'Roles system, developer, user, assistant and tool; contents are texts or lists of text parts.',
    },
    stream: BOOLEAN,
    stream_options: { ...OBJECT, properties: { include_usage: BOOLEAN } },
    max_tokens: TOKENS,
    max_completion_tokens: TOKENS,
    temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
    tools: {
      type: ['array', 'null'],
      maxItems: 128,
      description: 'Tools of the client: calls of them are handed back.',
    },
    tool_choice: { description: '"auto" (default) or "none"; nothing else is supported.' },
    n: { type: ['integer', 'null'], description: 'Only 1.' },
    response_format: { ...OBJECT, description: 'Only {"type": "text"}.' },
    logprobs: BOOLEAN,
    modalities: { type: ['array', 'null'] },
  },
} as const
