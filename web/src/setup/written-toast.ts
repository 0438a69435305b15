import type { Toast } from '../parts/toast.tsx'
import type { WrittenChange } from './use-change.ts'

/** Says what was written, with the name of the backup and a button that takes it back. */
export const writtenToast = (text: string, { backup, undo }: WrittenChange, link?: Toast['link']): Toast => ({
  text: backup === undefined ? text : `${text} Backup: ${backup}`,
  link,
  ...(undo && { undo }),
})
