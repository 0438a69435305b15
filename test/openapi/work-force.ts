import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { DocumentFinding } from './check-document.ts'
import type { RealDocument } from './real-documents.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
/** Two processes of this size stay under 2 GB together. */
const WORKERS = 2
const HEAP_MB = 800
/** Of what is larger only one is worked on at a time. */
const LARGE_BYTES = 8_000_000

/** Checks documents in processes of their own, and tells of each as soon as it is done. */
export async function checkAll(
  documents: readonly RealDocument[],
  tell: (finding: DocumentFinding) => void,
): Promise<void> {
  const open = [...documents]
  let largeAtWork = false
  const next = (): RealDocument | undefined => {
    const index = largeAtWork ? open.findIndex(({ bytes }) => bytes < LARGE_BYTES) : 0
    return index < 0 ? undefined : open.splice(index, 1)[0]
  }
  const work = async (): Promise<void> => {
    const worker = fork(WORKER, {
      execArgv: [`--max-old-space-size=${HEAP_MB}`, '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    await answer(worker)
    for (let document = next(); document !== undefined; document = next()) {
      const isLarge = document.bytes >= LARGE_BYTES
      if (isLarge) largeAtWork = true
      worker.send(document)
      tell((await answer(worker, document.name)) as DocumentFinding)
      if (isLarge) largeAtWork = false
    }
    worker.disconnect()
    await once(worker, 'exit')
  }
  await Promise.all(Array.from({ length: Math.min(WORKERS, documents.length) }, work))
}

function answer(worker: ChildProcess, document = 'nothing yet'): Promise<unknown> {
  const done = new AbortController()
  const { signal } = done
  const died = once(worker, 'exit', { signal }).then(([code, end]) => {
    throw new Error(`A process that checks documents ended with ${end ?? code}; it was at work on ${document}.`)
  })
  return Promise.race([once(worker, 'message', { signal }).then(([message]) => message), died]).finally(() => {
    died.catch(() => undefined)
    done.abort()
  })
}
