import { useEffect, useState } from 'react'
import { askNow, useConnection } from '../api/connection.ts'

/** Shown while the server doesn't answer. At the bottom, so that the layout doesn't move. */
export function ConnectionNotice() {
  const { up, retryAt } = useConnection()
  return (
    <div role="status" className={up ? '' : 'sticky bottom-0 z-30 border-t border-warn bg-warn-ground text-warn'}>
      {!up && (
        <div className="mx-auto flex wide flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
          <span>
            <strong>The server does not answer.</strong> The page shows older data. Is the server running?
          </span>
          <span aria-hidden="true" className="tabular-nums">
            <Countdown to={retryAt} />
          </span>
          <button type="button" className="font-medium underline underline-offset-2" onClick={() => void askNow()}>
            Try now
          </button>
        </div>
      )}
    </div>
  )
}

function Countdown({ to }: { readonly to: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.ceil((to - now) / 1_000)
  return seconds > 0 ? `Trying again in ${seconds} s` : 'Trying …'
}
