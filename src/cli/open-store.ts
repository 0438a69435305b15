import type { Storage } from '../core/storage/storage.ts'
import type { GlobalOptions } from './global-options.ts'
import { withStore as open } from './open.ts'
import { createTerminal } from './terminal.ts'

export const withStore = <T>(options: GlobalOptions, work: (storage: Storage) => Promise<T>): Promise<T> =>
  open(createTerminal(false), options, work)
