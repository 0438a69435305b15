import { AlertDialog } from '@base-ui/react/alert-dialog'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'

interface ConfirmDialogProps {
  readonly open: boolean
  readonly title: string
  readonly children: ReactNode
  /** The label of the confirm button. */
  readonly action: string
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Confirms an action that can't be undone. */
export const ConfirmDialog = ({ open, title, children, action, onConfirm, onClose }: ConfirmDialogProps) => (
  <AlertDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className="fixed inset-0 z-40 bg-black/50" />
      <AlertDialog.Popup className="panel fixed top-1/2 left-1/2 z-50 max-h-[calc(100dvh-2rem)] overflow-y-auto w-[min(28rem,calc(100vw-2rem))] -translate-x-1/2 -translate-y-1/2 border-bad p-5 shadow-xl">
        <AlertDialog.Title className="text-lg font-semibold wrap-anywhere">{title}</AlertDialog.Title>
        <AlertDialog.Description render={<div />} className="mt-2 text-muted">
          {children}
        </AlertDialog.Description>
        <div className="mt-5 flex justify-end gap-2">
          <AlertDialog.Close render={<Button>Cancel</Button>} />
          <Button look="danger" onClick={onConfirm}>
            {action}
          </Button>
        </div>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
)
