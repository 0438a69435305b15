import type { ChangeAnswer } from '../../../src/app/setup/setup.ts'
import type { Toast } from '../parts/toast.tsx'

/** Says what was written, with the name of the backup. */
export const writtenToast = (text: string, { backup }: ChangeAnswer, link: Toast['link']): Toast => ({
  text: backup === undefined ? text : `${text} Backup: ${backup}`,
  link,
})
