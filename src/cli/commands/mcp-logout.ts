import type { GlobalOptions } from '../global-options.ts'
import { httpServer } from '../http-server.ts'
import type { Terminal } from '../terminal.ts'

/** `toolyard mcp logout`: forgets the tokens for a server. */
export async function mcpLogout(terminal: Terminal, asked: string, options: GlobalOptions): Promise<number> {
  const { settings, url, file } = await httpServer(terminal, asked, options)
  const { name } = settings
  const known = (await file.read(url))?.tokens !== undefined
  await file.update(url, () => undefined)
  if (terminal.json) terminal.document({ server: name, success: true, forgotten: known })
  else terminal.result(known ? `The tokens for ${name} are forgotten.` : `There are no tokens for ${name}.`)
  return 0
}
