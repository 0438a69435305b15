import { Menu } from '@base-ui/react/menu'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { CheckIcon, ChevronIcon, CopyIcon } from '../parts/icons.tsx'
import { snippets } from './snippets.ts'

const SHOWN_MS = 2_000

interface CopyMenuProps {
  readonly tool: string
  readonly params: unknown
}

/** Copies a call as code, with its own parameters. */
export function CopyMenu({ tool, params }: CopyMenuProps) {
  const { data: session } = useQuery(sessionQuery)
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return null
  const call = { tool, params: params as Record<string, unknown>, url: location.origin }
  const copy = (title: string, text: string) =>
    navigator.clipboard
      ? navigator.clipboard.writeText(text).then(
          () => setSaid(`Copied ${title}`),
          () => setSaid('Copy failed'),
        )
      : setSaid('Copy failed')
  return (
    <Menu.Root>
      <Menu.Trigger className="inline-flex min-h-9 items-center gap-1 rounded-lg border border-transparent px-2 py-1 text-sm font-medium text-muted hover:bg-sunk hover:text-ink data-[popup-open]:bg-sunk">
        {said?.startsWith('Copied') ? <CheckIcon /> : <CopyIcon />}
        <span aria-live="polite">{said ?? 'Copy as'}</span>
        <ChevronIcon />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="z-40 outline-none">
          <Menu.Popup className="panel min-w-36 border-edge p-1 shadow-xl outline-none">
            {snippets({ ...call, withKey: session?.state === 'signed_in' }).map(({ title, text }) => (
              <Menu.Item
                key={title}
                className="cursor-pointer rounded-lg px-2.5 py-1.5 text-sm outline-none data-[highlighted]:bg-sunk"
                onClick={() => void copy(title, text)}
              >
                {title}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
