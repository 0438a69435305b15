import { Dialog } from '@base-ui/react/dialog'
import { CrossIcon } from '../parts/icons.tsx'

const SHORTCUTS: readonly { readonly keys: string; readonly about: string }[] = [
  { keys: 'Ctrl+K', about: 'Go to a page, form, tool, model, view, thread or run' },
  { keys: '/', about: 'Go to the search field of the page' },
  { keys: 'Enter', about: 'Run a tool from a field of its form, or send a question' },
  { keys: 'Ctrl+Enter', about: 'Do the same in a field with several lines' },
  { keys: 'Shift+Enter', about: 'Start a new line in a question' },
  { keys: 'Ctrl+Z', about: 'Undo what the last message says' },
  { keys: 'Escape', about: 'Close a dialog, a list or an editor' },
  { keys: '?', about: 'Show this list' },
]

interface ShortcutHelpProps {
  readonly open: boolean
  readonly onClose: () => void
}

/** Lists the keyboard shortcuts. */
export const ShortcutHelp = ({ open, onClose }: ShortcutHelpProps) => (
  <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/40" />
      <Dialog.Popup className="panel fixed top-1/2 left-1/2 z-50 max-h-[calc(100dvh-2rem)] w-[min(34rem,calc(100vw-2rem))] -translate-x-1/2 -translate-y-1/2 overflow-y-auto p-5 shadow-2xl">
        <div className="flex items-center gap-2">
          <Dialog.Title className="min-w-0 flex-1 text-lg font-semibold">Keyboard shortcuts</Dialog.Title>
          <Dialog.Close
            aria-label="Close"
            className="min-h-9 min-w-9 rounded-lg p-2 text-muted hover:bg-sunk hover:text-ink"
          >
            <CrossIcon />
          </Dialog.Close>
        </div>
        <dl className="mt-3 grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-2 text-sm">
          {SHORTCUTS.map(({ keys, about }) => (
            <div key={keys} className="contents">
              <dt>
                <kbd className="rounded-md border border-line bg-sunk px-1.5 py-0.5 font-mono text-xs whitespace-nowrap">
                  {keys}
                </kbd>
              </dt>
              <dd>{about}</dd>
            </div>
          ))}
        </dl>
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)
