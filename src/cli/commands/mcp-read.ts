import type { GlobalOptions } from '../global-options.ts'
import { openServer } from '../open.ts'
import { printable } from '../printable.ts'
import type { Terminal } from '../terminal.ts'

const PATIENCE_MS = 60_000

/** `toolyard mcp read`: prints a resource of a server: text as it is, anything else in base64. */
export async function mcpRead(
  terminal: Terminal,
  server: string,
  uri: string,
  options: GlobalOptions,
): Promise<number> {
  const { connection, close } = await openServer(terminal, server, options)
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const { contents } = await (await connection.client(signal)).readResource({ uri }, { signal })
    if (terminal.json) terminal.document({ contents })
    else for (const part of contents) terminal.result('text' in part ? printable(part.text) : part.blob)
    return 0
  } finally {
    await close()
  }
}
