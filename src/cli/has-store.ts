import { hasStore as has } from './open.ts'
import { createTerminal } from './terminal.ts'

export const hasStore = (): boolean => has(createTerminal(false))
