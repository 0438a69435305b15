import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { SuiteProgress, SuiteRunView } from '../../../../src/server/http/views.ts'
import { whenServerReturns } from '../../api/connection.ts'
import { suiteRunQuery } from '../../api/queries.ts'
import { readEvents } from '../../api/read-events.ts'

/** The polling interval if the event stream fails. */
const LOOK_MS = 5_000

/** A suite run, updated by its event stream. */
export function useSuiteRun(id: string) {
  const client = useQueryClient()
  const [following, setFollowing] = useState(false)
  const [returns, setReturns] = useState(0)
  const query = useQuery({
    ...suiteRunQuery(id),
    refetchInterval: ({ state }) => (state.data?.ended_at === null && !following ? LOOK_MS : false),
  })
  const open = query.data?.ended_at === null
  const over = query.data !== undefined && !open
  useEffect(() => whenServerReturns(() => setReturns((times) => times + 1)), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: reopens the stream when the server is back.
  useEffect(() => {
    if (!open) return
    const controller = new AbortController()
    const { queryKey } = suiteRunQuery(id)
    const follow = async (): Promise<void> => {
      setFollowing(true)
      const path = `/api/validations/runs/${encodeURIComponent(id)}`
      for await (const { event, data } of readEvents(path, { signal: controller.signal })) {
        if (event === 'progress') {
          const progress = data as SuiteProgress
          client.setQueryData(queryKey, (run) => run && { ...run, state: 'running' as const, progress })
        }
        if (event === 'result') client.setQueryData(queryKey, data as SuiteRunView)
      }
    }
    void follow()
      .catch(() => {})
      .finally(() => setFollowing(false))
    return () => controller.abort()
  }, [open, id, client, returns])
  useEffect(() => {
    if (!over) return
    // The run recorded new test results.
    for (const key of ['models', 'tool-use']) void client.invalidateQueries({ queryKey: [key] })
    void client.invalidateQueries({ queryKey: ['suite-runs'], exact: true })
  }, [over, client])
  return query
}
