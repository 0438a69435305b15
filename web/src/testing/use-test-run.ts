import { useCallback, useEffect, useRef, useState } from 'react'
import { readEvents } from '../api/read-events.ts'
import { failed, newRun, nextRun, type RunState } from './run-state.ts'

/** One streamed run at a time. Leaving the page cancels it. */
export function useTestRun() {
  const [run, setRun] = useState<RunState>()
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])

  const start = useCallback(async (model: string, query: string): Promise<void> => {
    abort.current?.abort()
    const controller = new AbortController()
    abort.current = controller
    // Ignore events of a replaced run.
    const change = (next: (run: RunState) => RunState): void =>
      setRun((before) => (before === undefined || abort.current !== controller ? before : next(before)))
    setRun(newRun(model, query, performance.now()))
    try {
      const options = { method: 'POST', body: { query, model }, signal: controller.signal } as const
      for await (const event of readEvents('/api/tools/test', options)) {
        change((before) => nextRun(before, event, performance.now()))
      }
      change((before) =>
        before.status === 'running' ? failed(before, 'The run ended without an answer.', performance.now()) : before,
      )
    } catch (error) {
      const { message } = error as Error
      change((before) => {
        const over = failed(before, message, performance.now())
        return controller.signal.aborted ? { ...over, status: 'cancelled', problem: 'You cancelled the run.' } : over
      })
    }
  }, [])

  const cancel = useCallback(() => abort.current?.abort(), [])
  const clear = useCallback(() => {
    abort.current?.abort()
    abort.current = undefined
    setRun(undefined)
  }, [])
  return { run, start, cancel, clear }
}
