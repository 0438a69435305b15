import type { Described } from '../../core/json/described.ts'

const PATTERNS = { type: 'array', maxItems: 1_000, items: { type: 'string', minLength: 1, maxLength: 2_048 } } as const

export const SERVED_PART_SCHEMA = {
  type: 'object',
  required: ['tools'],
  additionalProperties: false,
  properties: {
    tools: { ...PATTERNS, description: 'Patterns of tools: * stands for any characters.' },
    prompts: { ...PATTERNS, description: 'Patterns of prompts. Default: none.' },
    resources: { ...PATTERNS, description: 'Patterns of the URIs of resources. Default: none.' },
  },
} as const

/** The part of the tools, prompts and resources that one path serves. In a pattern, `*` stands for any characters. */
export interface ServedPart extends Described<typeof SERVED_PART_SCHEMA> {}

/** The key `mcp`. */
export const MCP_SCHEMA = {
  type: 'object',
  description: 'The MCP endpoint of the server.',
  additionalProperties: false,
  properties: {
    servers_out: {
      type: 'object',
      description: 'MCP servers at /mcp/<name>, each with a part of the tools, prompts and resources.',
      maxProperties: 100,
      propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
      additionalProperties: SERVED_PART_SCHEMA,
    },
  },
} as const
