/** A registered tool of an MCP server: what it is called here, and what its server calls it. */
export interface ServerToolNames {
  readonly name: string
  readonly tool: string
}
