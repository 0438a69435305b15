import type { IconButtonProps } from '@rjsf/utils'
import type { ComponentType, ReactNode } from 'react'
import { ArrowDownIcon, ArrowUpIcon, CopyIcon, CrossIcon, PlusIcon } from '../../parts/icons.tsx'

const iconButton =
  (title: string, icon: ReactNode, words = false) =>
  ({ id, onClick, disabled }: IconButtonProps) => (
    <button
      type="button"
      id={id}
      onClick={onClick}
      disabled={disabled}
      title={title}
      aria-label={words ? undefined : title}
      className="inline-flex min-h-8 min-w-8 items-center justify-center gap-1 rounded-lg border border-line px-1.5 text-sm text-muted hover:bg-sunk hover:text-ink disabled:opacity-40"
    >
      {icon}
      {words && title}
    </button>
  )

type IconButton = ComponentType<IconButtonProps>

/** The buttons of arrays and additional properties. */
export const buttonTemplates: Record<string, IconButton> = {
  AddButton: iconButton('Add', <PlusIcon />, true),
  CopyButton: iconButton('Copy', <CopyIcon />),
  MoveDownButton: iconButton('Move down', <ArrowDownIcon />),
  MoveUpButton: iconButton('Move up', <ArrowUpIcon />),
  RemoveButton: iconButton('Remove', <CrossIcon />),
  ClearButton: iconButton('Clear', <CrossIcon />),
}
