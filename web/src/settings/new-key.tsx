import { useEffect, useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import type { MadeKey } from './setting-queries.ts'

interface NewKeyProps {
  readonly made: MadeKey
  readonly onDone: () => void
}

/** A key that was made just now. It is nowhere else, and gone when this is. */
export function NewKey({ made, onDone }: NewKeyProps) {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.focus(), [])
  return (
    <section
      ref={panel}
      tabIndex={-1}
      aria-label="The new key"
      className="rounded-xl border border-good bg-good-ground p-4 text-good"
    >
      <h2 className="font-semibold">The key “{made.name}” is made</h2>
      <p className="mt-1 text-sm">
        This is the only time that it is shown. Keep it where secrets are kept; the server keeps no more than its hash.
      </p>
      <code className="mt-3 block rounded-lg bg-panel p-3 font-mono text-sm break-all text-ink">{made.key}</code>
      <div className="mt-3 flex flex-wrap gap-2">
        <CopyButton text={made.key} label="Copy the key" />
        <Button onClick={onDone}>I have kept it</Button>
      </div>
    </section>
  )
}
