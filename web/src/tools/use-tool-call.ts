import { useEffect, useRef, useState } from 'react'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { readEvents } from '../api/read-events.ts'
import { toast } from '../parts/toast.tsx'

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

/**
 * One streamed call at a time. It goes on when the user opens another page of the web UI, and a toast says when it has
 * ended. Closing the tab cancels it: if the call writes, the browser asks first.
 */
export function useToolCall(tool: string, writes: boolean, onEnd: () => void) {
  const [state, setState] = useState<CallState>({ running: false })
  const abort = useRef<AbortController>(undefined)
  const isOpen = useRef(true)
  useEffect(() => {
    isOpen.current = true
    return () => {
      isOpen.current = false
    }
  }, [])

  async function run(params: unknown, approval?: string): Promise<void> {
    const controller = new AbortController()
    abort.current = controller
    setState({ running: true })
    const stay = (event: BeforeUnloadEvent) => event.preventDefault()
    if (writes) window.addEventListener('beforeunload', stay)
    try {
      const body = { tool_name: tool, params, ...(approval !== undefined && { approval_id: approval }) }
      const options = { method: 'POST', body, signal: controller.signal } as const
      for await (const { event, data } of readEvents('/tools/execute', options)) {
        if (event === 'progress') setState({ running: true, progress: data })
        if (event === 'result') {
          const result = data as ToolResult
          setState({ running: false, result, sent: params })
          if (!isOpen.current) toast(endedToast(tool, result))
        }
        if (event === 'shutdown') setState({ running: false, problem: 'The server stopped before the call ended.' })
      }
    } catch (error) {
      const problem = controller.signal.aborted ? 'The call was cancelled.' : (error as Error).message
      setState({ running: false, problem })
    } finally {
      window.removeEventListener('beforeunload', stay)
    }
    setState((last) => (last.running ? { running: false, problem: 'The call ended without a result.' } : last))
    onEnd()
  }

  return { ...state, run, cancel: () => abort.current?.abort() }
}

/** For users who have left the page of the tool. */
const endedToast = (tool: string, { success }: ToolResult) => ({
  text: success ? `The call of ${tool} succeeded.` : `The call of ${tool} failed.`,
  link: { label: 'Calls', href: `/activity/calls?tool=${encodeURIComponent(tool)}` },
})
