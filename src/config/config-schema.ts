import { HTTP_IMPLEMENTATION_SCHEMA } from '../kinds/http/definition/http-implementation.ts'
import { MCP_SERVER_TYPES } from './mcp-server-types.ts'
import { PROVIDER_TYPES } from './provider-types.ts'
import { SERVICE_SCHEMA } from './service-schema.ts'

/** Pasted from other clients: what only those know is no fault. */
const MCP_SERVERS = {
  type: 'object',
  description: 'MCP servers, as Claude Desktop, Cursor and VS Code have them. ${VAR} is replaced from the environment.',
  additionalProperties: {
    type: 'object',
    properties: {
      type: { enum: MCP_SERVER_TYPES, description: 'How it is spoken to; by default found out.' },
      command: {
        type: 'string',
        minLength: 1,
        description: 'The program to start; it speaks on its stdin and stdout.',
      },
      args: { type: 'array', items: { type: 'string' } },
      env: {
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
        description: 'What it gets of the environment, besides PATH, HOME and a few.',
      },
      cwd: { type: 'string', minLength: 1, description: 'The folder that it runs in.' },
      url: { type: 'string', minLength: 1, description: 'The address of a server that runs already.' },
      headers: { type: 'object', additionalProperties: { type: 'string' }, description: 'Sent with every request.' },
      oauth: {
        type: 'object',
        description: 'The client that its authorization server knows, where that lets none register itself.',
        properties: {
          client_id: { type: 'string', minLength: 1 },
          client_secret: { type: 'string', minLength: 1 },
          private_key: { type: 'string', minLength: 1, description: 'In PEM, for client_credentials.' },
          issuer: { type: 'string', minLength: 1, description: 'The authorization server; no other gets the secret.' },
          grant_type: {
            enum: ['authorization_code', 'client_credentials'],
            description: 'With client_credentials nobody has to log in.',
          },
        },
      },
      disabled: { type: 'boolean', description: 'With true it is left out.' },
      pin: { type: 'boolean', description: 'With true, tools that change are refused until approved.' },
      check: { type: 'string', minLength: 1, description: 'What to look at where it cannot be reached.' },
    },
  },
} as const

/** The configuration file, as JSON Schema: what is checked at the start, and what editors complete from. */
export const CONFIG_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Toolyard configuration',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    tools: {
      type: 'object',
      description: 'The tools, and how they are run.',
      additionalProperties: false,
      properties: {
        enabled: { type: 'boolean', description: 'Only true enables tools; without it there are none anywhere.' },
        max_iterations: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'Turns with tool calls in one run; 5 if not given.',
        },
        default_timeout_ms: {
          type: 'integer',
          minimum: 1,
          description: 'The deadline of tools that name none; 30000 if not given.',
        },
        max_parallel_calls: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'Calls of one turn at a time; 8 if not given.',
        },
        registry: { type: 'array', description: 'Tool definitions; a bad one is reported and skipped.' },
      },
    },
    providers: {
      type: 'object',
      description: 'Where models are asked, by name. ${VAR} is replaced from the environment.',
      propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: {
          type: { enum: PROVIDER_TYPES, description: 'What it speaks; by default what it is called.' },
          base_url: { type: 'string', minLength: 1, description: 'Where it is, if not where its makers put it.' },
          api_key: { type: 'string', minLength: 1, description: 'As "${OPENAI_API_KEY}", not the key itself.' },
          headers: {
            type: 'object',
            additionalProperties: { type: 'string' },
            description: 'Sent with every request.',
          },
          timeout_ms: { type: 'integer', minimum: 1, description: 'The deadline of one answer.' },
          api: { enum: ['responses', 'chat'], description: 'Which API of OpenAI; chat where base_url is set.' },
          grammar: { type: 'boolean', description: 'Whether llama holds calls to their schema.' },
        },
      },
    },
    models: {
      type: 'array',
      description: 'The models that are offered, and what is known of them.',
      items: {
        type: 'object',
        required: ['id', 'name', 'capabilities'],
        additionalProperties: false,
        properties: {
          id: { type: 'string', description: 'provider:model, split at the first colon.' },
          name: { type: 'string', minLength: 1 },
          capabilities: {
            type: 'array',
            items: { type: 'string', minLength: 1 },
            description: 'With function-calling the model takes tools.',
          },
          prices: {
            type: 'object',
            description: 'Per million tokens.',
            required: ['input', 'output'],
            additionalProperties: false,
            properties: { input: { type: 'number', minimum: 0 }, output: { type: 'number', minimum: 0 } },
          },
          printed_calls: {
            enum: ['off', 'read', 'all'],
            description:
              'Which tools run if the model prints a call as text: none, those with effect read, or all; read if not given.',
          },
        },
      },
    },
    responses: {
      type: 'array',
      description: 'Who is answered by which model; the first rule that matches answers.',
      items: {
        type: 'object',
        required: ['llm', 'model', 'prompt'],
        additionalProperties: false,
        properties: {
          match: {
            type: 'object',
            description: 'All must hold; without it the rule always matches.',
            properties: {
              intent_regexp: { type: 'string', description: 'Like "/(weather|forecast)/i".' },
            },
            additionalProperties: { type: ['string', 'number', 'boolean'] },
          },
          llm: { type: 'string', minLength: 1, description: 'A key of providers.' },
          model: { type: 'string', minLength: 1, description: 'Without the provider.' },
          prompt: { type: 'string', description: 'The system message; {{name}} is replaced.' },
          max_tokens: { type: 'integer', minimum: 1 },
          temperature: { type: 'number', minimum: 0, maximum: 2 },
          tools: {
            type: 'object',
            additionalProperties: false,
            properties: {
              enabled: { type: 'boolean', description: 'Only true enables tools.' },
              allowed_tools: {
                type: 'array',
                items: { type: 'string', minLength: 1 },
                description: 'None where empty; without it every tool the caller may use.',
              },
              max_iterations: { type: 'integer', minimum: 1, maximum: 100 },
            },
          },
          budget: {
            type: 'object',
            description: 'What one run may use up.',
            additionalProperties: false,
            properties: {
              wall_time_ms: { type: 'integer', minimum: 1 },
              tokens: { type: 'integer', minimum: 1 },
              cost: { type: 'number', exclusiveMinimum: 0, description: "In the currency of the model's prices." },
            },
          },
        },
      },
    },
    http: {
      type: 'object',
      description: 'Where HTTP tools may go.',
      additionalProperties: false,
      properties: {
        allowed_domains: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          description:
            'The only hosts: "api.example.com", or "*.example.com" for those below it. A tool may narrow it further.',
        },
        allow_private: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          description: 'Addresses inside that may be reached, such as "10.1.2.0/24". None if not given.',
        },
      },
    },
    ...SERVICE_SCHEMA,
    mcpServers: MCP_SERVERS,
    servers: { ...MCP_SERVERS, description: 'What VS Code calls mcpServers.' },
    inputs: {
      type: 'array',
      description: 'What VS Code asks its user for; here the variable TOOLYARD_INPUT_<ID> answers.',
      items: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', minLength: 1 }, description: { type: 'string' } },
      },
    },
  },
} as const

/** One entry of `tools.registry`. */
export const DEFINITION_SCHEMA = {
  type: 'object',
  required: ['name', 'description', 'parameters', 'implementation'],
  properties: {
    name: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    description: { type: 'string', minLength: 1 },
    parameters: { type: 'object' },
    implementation: {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string' }, handler: { type: 'string' } },
    },
    type: { type: 'string' },
    handler: { type: 'string' },
    timeout_ms: { type: 'number', exclusiveMinimum: 0 },
    permissions: { type: 'array', items: { type: 'string', minLength: 1 } },
    effect: { enum: ['read', 'idempotent', 'write'] },
    retry: {
      type: 'object',
      required: ['max_attempts'],
      additionalProperties: false,
      properties: {
        max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
        backoff_ms: { type: 'number', minimum: 0 },
      },
    },
    cache: {
      type: 'object',
      required: ['ttl_ms'],
      additionalProperties: false,
      properties: { ttl_ms: { type: 'number', exclusiveMinimum: 0 } },
    },
    max_concurrency: { type: 'integer', minimum: 1 },
    max_result_bytes: { type: 'integer', minimum: 1 },
    rate_limit: {
      type: 'object',
      required: ['calls', 'per_ms'],
      additionalProperties: false,
      properties: {
        calls: { type: 'integer', minimum: 1, maximum: 100_000 },
        per_ms: { type: 'number', exclusiveMinimum: 0 },
      },
    },
  },
} as const

/** An entry that stands for the definitions in a file. */
const INCLUDE_SCHEMA = {
  type: 'object',
  required: ['include'],
  additionalProperties: false,
  properties: {
    include: { type: 'string', minLength: 1, description: 'A file of definitions, such as "tools/github.json".' },
  },
} as const

/** An entry that names a knowledge tool instead of writing out its definition. */
const SHIPPED_SCHEMA = {
  enum: ['ingest_docs', 'summarize', 'extract_entities', 'classify_intent', 'tag_chunk_docs'],
  description: 'A tool that comes with Toolyard.',
} as const

/** All together, for editors: what `toolyard.config.schema.json` holds. */
export function publishedSchema(): object {
  const { tools } = CONFIG_SCHEMA.properties
  const { implementation, ...rest } = DEFINITION_SCHEMA.properties
  const others = { properties: { type: { not: { const: 'http' } } } }
  const kinds = { ...implementation, anyOf: [HTTP_IMPLEMENTATION_SCHEMA, others] }
  const definition = { ...DEFINITION_SCHEMA, properties: { ...rest, implementation: kinds } }
  const items = { anyOf: [definition, INCLUDE_SCHEMA, SHIPPED_SCHEMA] }
  const registry = { ...tools.properties.registry, items }
  const properties = { ...CONFIG_SCHEMA.properties, tools: { ...tools, properties: { ...tools.properties, registry } } }
  return { ...CONFIG_SCHEMA, properties }
}
