import { fileURLToPath } from 'node:url'

/** How the small server is started. */
export const STDIO_COMMAND = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./stdio-server.ts', import.meta.url))],
}
