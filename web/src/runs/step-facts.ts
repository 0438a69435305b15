import type { RunStep } from '../../../src/core/storage/run-store.ts'

interface StepFacts {
  readonly failed: boolean
  /** What went wrong, with its code. */
  readonly error?: string
  /** Of a call that succeeded. */
  readonly result?: unknown
  /** Whether the parameters or the result are stored. */
  readonly hasPayload: boolean
}

/** What a step came to. Its result may be stored without contents. */
export function stepFacts({ params, result }: Pick<RunStep, 'params' | 'result'>): StepFacts {
  const envelope = Object(result) as { success?: unknown; result?: unknown; error?: unknown; error_code?: unknown }
  const failed = envelope.success === false
  const words = [envelope.error_code, envelope.error].filter((text) => typeof text === 'string')
  return {
    failed,
    ...(failed && words.length > 0 && { error: words.join(': ') }),
    ...(envelope.success === true && 'result' in envelope && { result: envelope.result }),
    hasPayload: params !== undefined || 'result' in envelope || typeof envelope.error === 'string',
  }
}
