import { type ReactNode, useEffect, useRef } from 'react'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import type { MadeKey } from './setting-queries.ts'

interface NewKeyProps {
  readonly made: MadeKey
  readonly title?: string
  readonly children?: ReactNode
  readonly onDone: () => void
}

/** A new key, shown once. */
export function NewKey({ made, title = `Created key “${made.name}”`, children, onDone }: NewKeyProps) {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.focus(), [])
  return (
    <section
      ref={panel}
      tabIndex={-1}
      aria-label="The new key"
      className="rounded-xl border border-good bg-good-ground p-4 text-good"
    >
      <h2 className="font-semibold">{title}</h2>
      <p className="mt-1 text-sm">
        The key is shown only once: store it with your other secrets. The server stores only its hash. {children}
      </p>
      <code className="mt-3 block rounded-lg bg-panel p-3 font-mono text-sm break-all text-ink">{made.key}</code>
      <div className="mt-3 flex flex-wrap gap-2">
        <CopyButton text={made.key} label="Copy key" />
        <Button onClick={onDone}>Done</Button>
      </div>
    </section>
  )
}
