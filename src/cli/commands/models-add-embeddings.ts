import { addEmbeddings } from '../../knowledge/embedding/local/add-embeddings.ts'
import { EMBEDDING_PACKAGES } from '../../knowledge/embedding/local/local-model.ts'
import { dataFolder } from '../../models/model-files/model-folder.ts'
import { Interrupt } from '../interrupt.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'

const PHASES = {
  fetching: `${EMBEDDING_PACKAGES.map(({ name, version }) => `${name} ${version}`).join(' and ')}, 50 MB`,
  checking: 'that it works',
} as const

/** `toolyard models add-embeddings`: puts an embedding model where `local:` finds it; 0 where it is there, 1 where it could not be had. */
export async function modelsAddEmbeddings(
  terminal: Terminal,
  add: typeof addEmbeddings = addEmbeddings,
): Promise<number> {
  const interrupt = new Interrupt()
  try {
    const added = await add({
      dataFolder: dataFolder(),
      signal: interrupt.signal,
      onProgress: (phase) => terminal.note(terminal.styleNote('dim', `… ${phase} ${PHASES[phase]}`)),
    })
    if (terminal.json) terminal.document(added)
    else {
      terminal.result(added.model)
      terminal.note(`${printableLine(added.folder)}${added.added ? '' : ', there already'}`)
    }
    return 0
  } catch (error) {
    if (interrupt.exitCode === undefined) throw error
    terminal.note('Stopped. Nothing has changed.')
    return interrupt.exitCode
  } finally {
    interrupt.stop()
  }
}
