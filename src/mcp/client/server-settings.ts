/** How one MCP server is reached; variables are already replaced. */
export interface McpServerSettings {
  /** The key under `mcpServers`. */
  readonly name: string
  readonly reach: StdioReach | HttpReach
  /** Tools whose definition has changed are refused until somebody approves them. */
  readonly pin?: boolean
  /** What to look at where the server cannot be reached. */
  readonly check?: string
}

export interface StdioReach {
  readonly type: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface HttpReach {
  /** `auto`: streamable HTTP, and SSE where the server is too old for it. */
  readonly type: 'auto' | 'http' | 'sse'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The client that its authorization server knows us as; without it, we register ourselves. */
  readonly oauth?: OAuthClientSettings
}

/** A client that somebody has registered with an authorization server. */
export interface OAuthClientSettings {
  readonly clientId: string
  readonly clientSecret?: string
  /** In PEM, for the grant of client credentials. */
  readonly privateKey?: string
  /** The only authorization server that is to see the client. */
  readonly issuer?: string
  /** Tokens are given to the client itself; nobody logs in. */
  readonly isMachine: boolean
}
