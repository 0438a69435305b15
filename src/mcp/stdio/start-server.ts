import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { serverEnvironment } from './server-environment.ts'

/** How a server is started, as `mcpServers` has it. */
export interface ServerCommand {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/**
 * Starts a server in a process group of its own, so that all of it can be ended. Windows has no groups, and starts no
 * `.cmd` file without a shell: there a command such as `npx` is written `cmd` with the arguments `/c npx …`.
 */
export async function startServer(server: ServerCommand): Promise<ChildProcess> {
  try {
    const child = spawn(server.command, server.args ?? [], {
      env: serverEnvironment(server.env),
      cwd: server.cwd,
      detached: process.platform !== 'win32',
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    })
    await once(child, 'spawn')
    return child
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    // What Node says may quote arguments and variables, and with them secrets.
    const message = `Cannot start the MCP server ${JSON.stringify(server.command)}: ${await explain(code, server)}`
    throw new ToolExecutionError('SERVICE_UNAVAILABLE', message)
  }
}

async function explain(code: string, { command, cwd }: ServerCommand): Promise<string> {
  if (cwd !== undefined && !(await isDirectory(cwd)))
    return `its cwd ${JSON.stringify(cwd)} is not a directory. Correct "cwd".`
  const isPath = /[\\/]/.test(command)
  switch (code) {
    case 'ENOENT':
      return isPath
        ? 'there is no such file, or no program of the name in its first line. Correct "command".'
        : 'there is no such command in PATH. Install it, or give its whole path as "command".'
    case 'EACCES':
      return isPath
        ? 'the file is not executable. Make it so (chmod +x), or start it by its interpreter.'
        : 'what PATH has by this name is not executable. Give the whole path of the right one as "command".'
    default:
      return `the system refused (${code}). Check "command", "args" and "env".`
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}
