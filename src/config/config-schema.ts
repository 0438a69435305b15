import { DEFINITION_SCHEMA, ROLLOUT_SCHEMA } from '../core/tool.ts'
import { AGENT_SCHEMA } from '../kinds/composite/agent-schema.ts'
import { CODE_MODE_SCHEMA } from '../kinds/composite/code-mode.ts'
import { PIPELINE_SCHEMA } from '../kinds/composite/pipeline-schema.ts'
import { HTTP_IMPLEMENTATION_SCHEMA, HTTP_SETTINGS_SCHEMA } from '../kinds/http/definition/http-implementation.ts'
import { MCP_SERVER_TYPES } from './config.ts'
import { MCP_AUTH_SCHEMA } from './connection-config.ts'
import { PROVIDER_TYPES } from './model-settings.ts'
import { SERVICE_SCHEMA } from './service-schema.ts'

/** The longest that Node.js can wait. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Additional keys are allowed: entries are copied from other clients. */
const MCP_SERVERS = {
  type: 'object',
  description:
    'MCP servers, in the format of Claude Desktop, Cursor and VS Code. ${VAR} is replaced from the environment.',
  additionalProperties: {
    type: 'object',
    properties: {
      type: { enum: MCP_SERVER_TYPES, description: 'The transport. Default: detected.' },
      command: {
        type: 'string',
        minLength: 1,
        description: 'The program to start; it communicates over stdin and stdout.',
      },
      args: { type: 'array', items: { type: 'string' } },
      env: {
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
        description: 'Environment variables, besides PATH, HOME and a few others.',
      },
      cwd: { type: 'string', minLength: 1, description: 'The working directory.' },
      url: { type: 'string', minLength: 1, description: 'The address of a running server.' },
      headers: { type: 'object', additionalProperties: { type: 'string' }, description: 'Sent with every request.' },
      oauth: {
        type: 'object',
        description: "A registered client, if the authorization server doesn't support dynamic registration.",
        properties: {
          client_id: { type: 'string', minLength: 1 },
          client_secret: { type: 'string', minLength: 1 },
          private_key: { type: 'string', minLength: 1, description: 'In PEM, for client_credentials.' },
          issuer: {
            type: 'string',
            minLength: 1,
            description: 'The only authorization server that receives the secret.',
          },
          grant_type: {
            enum: ['authorization_code', 'client_credentials'],
            description: 'client_credentials needs no login.',
          },
        },
      },
      auth: MCP_AUTH_SCHEMA,
      disabled: { type: 'boolean', description: 'true disables the server.' },
      parameter_names: {
        type: 'object',
        description: 'By tool: what the server calls the parameters that models see under another name.',
        additionalProperties: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
      },
      pin: { type: 'boolean', description: 'true refuses changed tools until they are approved.' },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_TIMER_MS,
        description: 'The timeout of its tools. Default: timeout, then tools.default_timeout_ms.',
      },
      timeout: {
        description:
          'The same, as other clients write it. Values below 1000 are ignored: some configurations write seconds.',
      },
      check: { type: 'string', minLength: 1, description: "What to check if the server can't be reached." },
      forward: {
        type: 'object',
        description: 'What Toolyard forwards from this server to MCP clients, and what it may ask them during a call.',
        additionalProperties: false,
        properties: {
          prompts: { type: 'boolean', description: 'Its prompts. Default: true.' },
          resources: { type: 'boolean', description: 'Its resources. Default: true.' },
          logging: { type: 'boolean', description: 'Its log messages. Default: false.' },
          elicitation: {
            enum: [false, true, 'ask'],
            description: 'true: it may ask the user of the client; ask: people in the web UI. Default: false.',
          },
          sampling: {
            enum: [false, true, 'ask'],
            description: "true: it may ask the client's model; ask: people in the web UI. Default: false.",
          },
          roots: { type: 'boolean', description: "It may read the client's roots. Default: false." },
        },
      },
    },
  },
} as const

/** The JSON Schema of the configuration file. */
export const CONFIG_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Toolyard configuration',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    tools: {
      type: 'object',
      description: 'Tools and how they run.',
      additionalProperties: false,
      properties: {
        enabled: { type: 'boolean', description: 'Only true enables tools.' },
        max_iterations: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'The maximum number of turns with tool calls in one run. Default: 5.',
        },
        default_timeout_ms: {
          type: 'integer',
          minimum: 1,
          description: 'The default timeout of tools. Default: 30000.',
        },
        max_parallel_calls: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'The maximum number of parallel calls in one turn. Default: 8.',
        },
        rollout: {
          type: 'object',
          description: 'By tool: which versions callers get. Changes at run time override it.',
          additionalProperties: ROLLOUT_SCHEMA,
        },
        registry: { type: 'array', description: 'Tool definitions. Invalid ones are skipped with a warning.' },
        discovery: {
          type: 'object',
          description: 'If there are too many tools, models are offered those that match, and a search for the others.',
          additionalProperties: false,
          properties: {
            enabled: {
              enum: ['auto', true, false],
              description: '"auto": only for runs whose tools exceed max_tool_tokens. Default: "auto".',
            },
            max_tool_tokens: {
              type: 'integer',
              minimum: 100,
              maximum: 1_000_000,
              description: 'About how many tokens the tools of a request may have. Default: 8000.',
            },
            always: {
              type: 'array',
              items: { type: 'string', minLength: 1 },
              description: 'Patterns of tools that are always offered, such as "orders_*". Default: none.',
            },
          },
        },
        code_mode: CODE_MODE_SCHEMA,
      },
    },
    providers: {
      type: 'object',
      description: 'Model providers by name. ${VAR} is replaced from the environment.',
      propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: {
          type: { enum: PROVIDER_TYPES, description: 'The API type. Default: the name.' },
          base_url: { type: 'string', minLength: 1, description: "The address, if it isn't the official one." },
          api_key: { type: 'string', minLength: 1, description: 'Such as "${OPENAI_API_KEY}", not the key itself.' },
          headers: {
            type: 'object',
            additionalProperties: { type: 'string' },
            description: 'Sent with every request.',
          },
          timeout_ms: { type: 'integer', minimum: 1, description: 'The timeout of one response.' },
          api: {
            enum: ['responses', 'chat'],
            description: 'The OpenAI API. Default: chat if base_url is set, otherwise responses.',
          },
          grammar: { type: 'boolean', description: 'Whether llama constrains calls to their schema.' },
          any_model: {
            type: 'boolean',
            description:
              'Whether callers of the server may use models that the configuration does not name. Default: true for ollama, llama and mini, which have only the models installed, otherwise false.',
          },
        },
      },
    },
    models: {
      type: 'array',
      description: 'The available models.',
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
            description:
              'function-calling enables tools; image-input, audio-input, file-input or text-input say which media the model takes.',
          },
          prices: {
            type: 'object',
            description: 'Per million tokens, in costs.currency. Without it, the cost of turns is unknown.',
            required: ['input', 'output'],
            additionalProperties: false,
            properties: {
              input: { type: 'number', minimum: 0 },
              output: { type: 'number', minimum: 0 },
              cached_input: {
                type: 'number',
                minimum: 0,
                description: 'For input tokens that the provider read from its cache. Default: input.',
              },
            },
          },
          printed_calls: {
            enum: ['off', 'read', 'all'],
            description:
              'Which tools run if the model prints a call as text: none, those with effect read, or all. Default: read.',
          },
        },
      },
    },
    responses: {
      type: 'array',
      description: 'Rules that select the model. The first match applies.',
      items: {
        type: 'object',
        required: ['llm', 'model', 'prompt'],
        additionalProperties: false,
        properties: {
          match: {
            type: 'object',
            description: 'All conditions must match. Without it the rule always matches.',
            properties: {
              intent_regexp: { type: 'string', description: 'Like "/(weather|forecast)/i".' },
            },
            additionalProperties: { type: ['string', 'number', 'boolean'] },
          },
          llm: { type: 'string', minLength: 1, description: 'A provider name.' },
          model: { type: 'string', minLength: 1, description: 'The model name without the provider.' },
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
                description: 'An empty list allows none. Default: every tool that the caller may use.',
              },
              max_iterations: { type: 'integer', minimum: 1, maximum: 100 },
            },
          },
          budget: {
            type: 'object',
            description: 'The limits of one run.',
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
    http: HTTP_SETTINGS_SCHEMA,
    ...SERVICE_SCHEMA,
    mcpServers: MCP_SERVERS,
    servers: { ...MCP_SERVERS, description: 'The name of mcpServers in VS Code.' },
    inputs: {
      type: 'array',
      description: 'Prompts of VS Code. Here the value comes from the variable TOOLYARD_INPUT_<ID>.',
      items: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', minLength: 1 }, description: { type: 'string' } },
      },
    },
  },
} as const

/** An entry that includes the definitions in a file. */
const INCLUDE_SCHEMA = {
  type: 'object',
  required: ['include'],
  additionalProperties: false,
  properties: {
    include: { type: 'string', minLength: 1, description: 'A file of definitions, such as "tools/github.json".' },
  },
} as const

/** An entry that names a shipped tool. */
const SHIPPED_SCHEMA = {
  enum: ['ingest_docs', 'summarize', 'extract_entities', 'classify_intent', 'tag_chunk_docs'],
  description: 'A tool that comes with Toolyard.',
} as const

/** The content of `toolyard.config.schema.json`, for editors. */
export function publishedSchema(): object {
  const { tools } = CONFIG_SCHEMA.properties
  const { implementation, ...rest } = DEFINITION_SCHEMA.properties
  const others = { properties: { type: { not: { enum: ['http', 'pipeline', 'agent'] } } } }
  const kinds = { ...implementation, anyOf: [HTTP_IMPLEMENTATION_SCHEMA, PIPELINE_SCHEMA, AGENT_SCHEMA, others] }
  const definition = { ...DEFINITION_SCHEMA, properties: { ...rest, implementation: kinds } }
  const items = { anyOf: [definition, INCLUDE_SCHEMA, SHIPPED_SCHEMA] }
  const registry = { ...tools.properties.registry, items }
  const properties = { ...CONFIG_SCHEMA.properties, tools: { ...tools, properties: { ...tools.properties, registry } } }
  return { ...CONFIG_SCHEMA, properties }
}
