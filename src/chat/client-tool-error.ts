/** A tool that the caller brings along cannot be offered: its name leads to another one. */
export class ClientToolError extends Error {
  readonly tool: string

  constructor(tool: string, message: string) {
    super(message)
    this.name = 'ClientToolError'
    this.tool = tool
  }
}
