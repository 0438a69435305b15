import { DISCOVERY_SCHEMA } from '../chat/discovery.ts'
import { type ResponseRule, RULE_SCHEMA } from '../chat/response-rules.ts'
import type { Described } from '../core/json/described.ts'
import { DEFINITION_SCHEMA, ROLLOUT_SCHEMA } from '../core/tool.ts'
import { AGENT_SCHEMA } from '../kinds/composite/agent-schema.ts'
import { CODE_MODE_SCHEMA } from '../kinds/composite/code-mode.ts'
import { PIPELINE_SCHEMA } from '../kinds/composite/pipeline-schema.ts'
import { HTTP_IMPLEMENTATION_SCHEMA, HTTP_SETTINGS_SCHEMA } from '../kinds/http/definition/http-implementation.ts'
import { MCP_INPUT_SCHEMA, MCP_SERVERS_SCHEMA, type McpInput } from '../mcp/client/server-settings.ts'
import { MODEL_SCHEMA } from '../models/model-info.ts'
import { PROVIDER_SCHEMA } from '../models/provider.ts'
import { SERVICE_SCHEMA } from './service-schema.ts'

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
        discovery: DISCOVERY_SCHEMA,
        code_mode: CODE_MODE_SCHEMA,
      },
    },
    providers: {
      type: 'object',
      description: 'Model providers by name. ${VAR} is replaced from the environment.',
      propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' },
      additionalProperties: PROVIDER_SCHEMA,
    },
    models: {
      type: 'array',
      description: 'The available models.',
      items: MODEL_SCHEMA,
    },
    responses: {
      type: 'array',
      description: 'Rules that select the model. The first match applies.',
      items: RULE_SCHEMA,
    },
    http: HTTP_SETTINGS_SCHEMA,
    ...SERVICE_SCHEMA,
    mcpServers: MCP_SERVERS_SCHEMA,
    servers: { ...MCP_SERVERS_SCHEMA, description: 'The name of mcpServers in VS Code.' },
    inputs: {
      type: 'array',
      description: 'Prompts of VS Code. Here the value comes from the variable TOOLYARD_INPUT_<ID>.',
      items: MCP_INPUT_SCHEMA,
    },
  },
} as const

/** The configuration. Entries of `registry` are checked when loaded. */
export interface Config extends Described<typeof CONFIG_SCHEMA> {
  readonly responses?: readonly ResponseRule[]
  readonly inputs?: readonly McpInput[]
}

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
