import type { Config, ToolDefinition } from 'toolyard'

/** What the suite hands over for one scenario. */
interface Context {
  readonly client_id?: string
  readonly client_secret?: string
  readonly private_key_pem?: string
  readonly issuer?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[]
}

/** The document that the suite expects as the name of clients that have one. */
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json'

/** The configuration that somebody would write who uses the scenario's server. */
export function configOf(url: string, scenario: string, context: Context): Config {
  const { client_id, client_secret, private_key_pem: private_key, issuer } = context
  const isMachine = scenario.startsWith('auth/client-credentials-')
  const given = {
    ...(client_id !== undefined && { client_id }),
    ...(client_secret !== undefined && { client_secret }),
    ...(private_key !== undefined && { private_key }),
    ...(issuer !== undefined && { issuer }),
    ...(isMachine && { grant_type: 'client_credentials' as const }),
  }
  const oauth = scenario === 'auth/basic-cimd' ? { client_id: CLIENT_DOCUMENT } : given
  return {
    tools: { enabled: true },
    // The suite's authorization server is on this machine.
    http: { allow_private: ['127.0.0.1', '::1'] },
    mcpServers: { suite: { url, ...(Object.keys(oauth).length > 0 && { oauth }) } },
  }
}

/** The calls that the scenario names, else one of every tool. */
export function callsOf(definitions: readonly ToolDefinition[], { toolCalls }: Context) {
  if (toolCalls !== undefined) return toolCalls.map(({ name, arguments: args }) => ({ name, args: withoutNulls(args) }))
  return definitions.map(({ name, parameters }) => ({ name, args: sample(parameters) }))
}

/** A null where the schema wants a boolean is refused before it is sent: whoever has no value leaves it out. */
const withoutNulls = (args: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))

const SAMPLES: Readonly<Record<string, unknown>> = { string: 'a', integer: 1, number: 1.5, boolean: true, array: [] }

/** Arguments that the schema of a fixture takes. */
function sample(parameters: object): Record<string, unknown> {
  const { properties = {}, required = [] } = parameters as {
    properties?: Record<string, { type?: string }>
    required?: string[]
  }
  return Object.fromEntries(required.map((name) => [name, SAMPLES[properties[name]?.type ?? ''] ?? null]))
}
