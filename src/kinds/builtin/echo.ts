import type { Handler } from '../../core/handler.ts'

/** Returns its parameters, to show what a caller sends. */
export const echo: Handler = (params) => ({ echo: params })
