import { parentPort, workerData } from 'node:worker_threads'
import { OpenapiError, parseDocument } from './documents.ts'
import { type ImportOptions, importOpenapi } from './import-openapi.ts'

/** What the worker imports, as its data. */
export interface ImportTask extends Pick<ImportOptions, 'prefix' | 'baseUrl' | 'documentUrl'> {
  readonly text: string
  /** The name of the document in errors. */
  readonly name: string
}

// Reads a document of a stranger in a thread of its own: a large one takes seconds, and may need much memory.
const { text, name, ...options } = workerData as ImportTask
try {
  parentPort?.postMessage({ report: importOpenapi(parseDocument(text, name), options) })
} catch (error) {
  if (!(error instanceof OpenapiError)) throw error
  parentPort?.postMessage({ problem: error.message })
}
