import { useEffect, useRef, useState } from 'react'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { readEvents } from '../api/read-events.ts'

/** The current state of a call. */
export interface CallState {
  readonly running: boolean
  readonly result?: ToolResult
  /** The parameters that led to the result. */
  readonly sent?: unknown
  /** The latest progress. */
  readonly progress?: unknown
  /** Why there is no envelope. */
  readonly problem?: string
}

/** One streamed call at a time. Leaving the page cancels it. */
export function useToolCall(tool: string, onEnd: () => void) {
  const [state, setState] = useState<CallState>({ running: false })
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])

  async function run(params: unknown, approval?: string): Promise<void> {
    const controller = new AbortController()
    abort.current = controller
    setState({ running: true })
    try {
      const body = { tool_name: tool, params, ...(approval !== undefined && { approval_id: approval }) }
      const options = { method: 'POST', body, signal: controller.signal } as const
      for await (const { event, data } of readEvents('/tools/execute', options)) {
        if (event === 'progress') setState({ running: true, progress: data })
        if (event === 'result') setState({ running: false, result: data as ToolResult, sent: params })
        if (event === 'shutdown') setState({ running: false, problem: 'The server stopped before the call ended.' })
      }
    } catch (error) {
      const problem = controller.signal.aborted ? 'The call was cancelled.' : (error as Error).message
      setState({ running: false, problem })
    }
    setState((last) => (last.running ? { running: false, problem: 'The call ended without a result.' } : last))
    onEnd()
  }

  return { ...state, run, cancel: () => abort.current?.abort() }
}
