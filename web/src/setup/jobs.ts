/** Something that can be added on the page. */
export interface Job {
  readonly id: 'mcp' | 'curl' | 'openapi' | 'model' | 'knowledge'
  readonly title: string
  /** For a row of links. */
  readonly short: string
  readonly about: string
}

/** What can be added, each at /setup/<id>. */
export const JOBS: readonly Job[] = [
  {
    id: 'mcp',
    title: 'Add an MCP server',
    short: 'MCP server',
    about:
      'Paste the configuration of a client, a URL or a command. Test the connection and see the tools before you add them.',
  },
  {
    id: 'curl',
    title: 'Add a tool from curl',
    short: 'Tool from curl',
    about: 'Paste a curl command that works. It becomes a tool with a name, a description and parameters.',
  },
  {
    id: 'openapi',
    title: 'Add tools from OpenAPI',
    short: 'Tools from OpenAPI',
    about: 'Load an OpenAPI document from a URL or a file, and choose the operations that become tools.',
  },
  {
    id: 'model',
    title: 'Add a model',
    short: 'Model',
    about: 'Choose a provider, say where its key comes from, and name the model.',
  },
  {
    id: 'knowledge',
    title: 'Add knowledge',
    short: 'Knowledge',
    about: 'Drop files into a collection, which tools and models can search.',
  },
]
