import type { Toast } from '../parts/toast.tsx'
import type { ChangeView } from './use-change.ts'

/** Says what was written, with the name of the backup. */
export const writtenToast = (text: string, { backup }: ChangeView, link: Toast['link']): Toast => ({
  text: backup === undefined ? text : `${text} Backup: ${backup}`,
  link,
})
