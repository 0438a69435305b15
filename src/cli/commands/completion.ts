import { COMPLETION_SCRIPTS } from '../completion-scripts.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

/** `toolyard completion`: prints the script that teaches a shell to complete. */
export async function completion(terminal: Terminal, shell: string): Promise<number> {
  const script = COMPLETION_SCRIPTS.get(shell)
  if (script === undefined) {
    const known = [...COMPLETION_SCRIPTS.keys()].join(', ')
    throw new UsageError(`No completion for the shell '${printableLine(shell)}': there is one for ${known}.`)
  }
  if (terminal.json) terminal.document({ shell, script })
  else terminal.result(script)
  return 0
}
