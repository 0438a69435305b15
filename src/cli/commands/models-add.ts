import { systemClock } from '../../core/clock.ts'
import { type Log, silentLog } from '../../core/log.ts'
import { addModel } from '../../models/model-files/add-model.ts'
import type { AddProgress } from '../../models/model-files/add-model-options.ts'
import { ModelFileError } from '../../models/model-files/model-file-error.ts'
import { dataFolder } from '../../models/model-files/model-folder.ts'
import { Interrupt } from '../interrupt.ts'
import { printableLine } from '../printable.ts'
import type { Terminal } from '../terminal.ts'
import { UsageError } from '../usage-error.ts'

export interface ModelsAddOptions {
  readonly sha256?: string
}

/** `toolyard models add FILE|URL`: puts a GGUF file where `llama:` finds it; 0 where it is there, 1 where it could not be had. */
export async function modelsAdd(terminal: Terminal, source: string, options: ModelsAddOptions): Promise<number> {
  const interrupt = new Interrupt()
  try {
    const added = await addModel(/^https?:/i.test(source) ? source : terminal.path(source), {
      ...options,
      dataFolder: dataFolder(terminal.env),
      signal: interrupt.signal,
      onProgress: inSteps(terminal),
      log: onTerminal(terminal),
      clock: systemClock,
    })
    if (terminal.json) terminal.document(added)
    else {
      terminal.result(`llama:${added.name}`)
      terminal.note(`${printableLine(added.file)}, ${megabytes(added.bytes)}, SHA-256 ${added.sha256}`)
    }
    return 0
  } catch (error) {
    if (interrupt.exitCode !== undefined) {
      terminal.note('Stopped. The same command goes on with a download where it stopped.')
      return interrupt.exitCode
    }
    throw error instanceof ModelFileError && error.usage ? new UsageError(error.message, { cause: error }) : error
  } finally {
    interrupt.stop()
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** A line for every tenth, or every 100 MB where nobody knows how much there is. */
function inSteps(terminal: Terminal): (progress: AddProgress) => void {
  let last = ''
  return ({ phase, bytes, total }) => {
    const step = `${phase} ${Math.floor(total === undefined ? bytes / 1e8 : (10 * bytes) / total)}`
    if (step === last) return
    last = step
    terminal.note(terminal.styleNote('dim', `… ${phase} ${megabytes(bytes)}${total ? ` of ${megabytes(total)}` : ''}`))
  }
}

/** What goes wrong on the way is told as it happens. */
const onTerminal = (terminal: Terminal): Log => ({
  ...silentLog,
  warn: (fields, message) => {
    const problem = 'problem' in fields ? `: ${fields.problem}` : ''
    terminal.note(printableLine(`${message}${problem}`))
  },
})
