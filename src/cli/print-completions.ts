import type { Command } from 'commander'
import type { ToolDefinition } from '../core/tool.ts'
import { completionWords } from './completion-words.ts'
import { openManager } from './open-manager.ts'
import type { Terminal } from './terminal.ts'

/** Prints the words that fit, one a line; tools are those of the configuration that the typed line names. */
export async function printCompletions(terminal: Terminal, program: Command, typed: readonly string[]): Promise<void> {
  const at = typed.indexOf('--config')
  const tools = await toolsOf(at === -1 ? undefined : typed[at + 1])
  for (const word of completionWords(program, typed, tools)) terminal.result(word)
}

/** None where the configuration cannot be read: commands and options are still worth completing. */
async function toolsOf(config: string | undefined): Promise<readonly ToolDefinition[]> {
  try {
    const { manager } = await openManager(config === undefined ? {} : { config })
    await manager.close()
    return manager.getRegistry().list()
  } catch {
    return []
  }
}
