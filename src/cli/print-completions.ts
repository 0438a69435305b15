import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import { mcpEntries } from '../config/mcp-entries.ts'
import { completionWords, type Known } from './completion-words.ts'
import { openManager, withoutServers } from './open.ts'
import type { Terminal } from './terminal.ts'

/** Prints the words that fit, one a line; names are those of the configuration that the typed line names. */
export async function printCompletions(terminal: Terminal, program: Command, typed: readonly string[]): Promise<void> {
  const at = typed.indexOf('--config')
  const known = await knownIn(terminal, at === -1 ? undefined : typed[at + 1])
  for (const word of completionWords(program, typed, known)) terminal.result(word)
}

/** Nothing where the configuration cannot be read: commands and options are still worth completing. */
async function knownIn(terminal: Terminal, file: string | undefined): Promise<Known> {
  let servers: string[] = []
  try {
    const change = (config: Config): Config => {
      servers = mcpEntries(config).map(({ name }) => name)
      return withoutServers(config)
    }
    const { manager } = await openManager(terminal, file === undefined ? {} : { config: file }, {
      change,
      record: false,
    })
    await manager.close()
    return { tools: manager.getRegistry().definitions(), servers }
  } catch {
    return { tools: [], servers }
  }
}
